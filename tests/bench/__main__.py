"""`python -m tests.bench`: every figure that needs nothing but this checkout."""

from tests.bench import agent_files, agents, remember, spine, watching

if __name__ == "__main__":
    for part in (spine, remember, agents, agent_files, watching):
        print(f"\n{part.__name__.rpartition('.')[2]}")
        part.main()
