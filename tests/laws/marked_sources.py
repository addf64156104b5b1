"""Sources with marks at the places where each may be written differently, in many languages.

`·` is a gap: white space, line ends and comments may stand there, or nothing. `˙` is one on the
same line. A line end may be followed by empty lines, by comments, and by any indentation. `‸` is a
comma, or none; `⁏` is a semicolon, or none. `«old|new|names»` is a token with what an edit makes of
it, and the definitions that this changes.
"""

import re
from dataclasses import dataclass
from textwrap import dedent

_EDIT = re.compile(r"«(.*?)\|(.*?)\|(.*?)»", re.DOTALL)


@dataclass(frozen=True)
class Marked:
    """A source of one language. `line` and `block` are its comments, `%` for the words."""

    path: str
    marked: str
    names: tuple
    line: str = "// %"
    block: str = "/* % */"
    indents: bool = True
    wrap: str = "\n"

    @property
    def edits(self):
        """Return (number of the edit, names that it changes)."""
        return [
            (number, set(found[3].split()))
            for number, found in enumerate(_EDIT.finditer(self.marked))
        ]

    def text(self, edited=None):
        """Return the source with its marks for layout, and the token `edited` in its new form."""
        number = -1

        def choose(found):
            nonlocal number
            number += 1
            return found[2] if number == edited else found[1]

        return _EDIT.sub(choose, self.marked)

    def plain(self, edited=None):
        """Return the source without marks."""
        text = self.text(edited)
        return "".join(
            _required(text, at) if letter in "·˙" else letter
            for at, letter in enumerate(text)
            if letter not in "‸⁏"
        )

    def written(self, chance, edited=None):
        """Return the source as somebody else might lay it out."""
        text = self.text(edited)
        return "".join(
            self._piece(chance, letter) or (_required(text, at) if letter in "·˙" else "")
            for at, letter in enumerate(text)
        )

    def _piece(self, chance, letter):
        words = chance.choice(["words", "limit", "2", "it's", ""])
        if letter == "‸":
            return chance.choice(["", ","])
        if letter == "⁏":
            return chance.choice(["", ";"])
        if letter in "·˙":
            pieces = ["", "", " ", "  "]
            if self.block:
                pieces.append(" " + self.block.replace("%", words) + " ")
            if letter == "·":
                comment = self.line.replace("%", words)
                pieces += [self.wrap, f"\n{self.wrap}      ", f"{self.wrap}{comment}{self.wrap}"]
                if self.block:
                    pieces.append(self.block.replace("%", f"{words}\n{words}"))
            return chance.choice(pieces)
        if letter == "\n":
            pieces = ["\n", "\n", "\n\n", " \n", "\r\n"]
            pieces += [
                f" {self.line.replace('%', words)}\n",
                f"\n{self.line.replace('%', words)}\n",
            ]
            return chance.choice(pieces) + (chance.choice(["", "  ", "\t"]) if self.indents else "")
        return letter


def _required(text, at):
    """Return the blank without which two words would be one."""
    before = re.search(r"[^·˙‸⁏]?$", text[:at].rstrip("·˙‸⁏"))[0]
    after = re.match(r"[·˙‸⁏]*(.?)", text[at:])[1]
    return " " if re.fullmatch(r"[\w$]{2}", before + after) else ""


def _of(path, marked, names, **how):
    return Marked(path, dedent(marked).lstrip("\n"), tuple(names.split()), **how)


_SCRIPT = """
const LIMIT·=·«3|4|LIMIT»⁏
export const names·=·[«"a  b"|"a b"|names», 'c'‸·]⁏
const table·=·{·small·:·«1|2|table table.small»,·run(·)·{·return «1|2|table table.run»⁏·}‸·}⁏

export function limit·(·a,·b «=|= -|limit» 1‸·)·{
  const total·=·a·«+|-|limit»·(«b|c|limit»·*·2)⁏
  if·(·total «>|>=|limit» 1·)·{
    call(·a, `«x  y|x y|limit» ${·«a|b|limit»·}`‸·)⁏
  }
  for·(·let i = 0·;·i < «10|11|limit»·;·i++·)·{·continue⁏·}
  return «total|other|limit»·[·0·]⁏
}

class Retry·extends·«Base|Other|Retry»·{
  static max·=·«5|6|Retry Retry.max»⁏
  onClick·=·(·e·)˙=>·{·this.go(«e|f|Retry.onClick»)⁏·}⁏
  «run|walk|Retry Retry.run»(·)·{
    return /«a b|a  b|Retry.run»/g.test(this)⁏
  }
}
"""

MARKED = [
    _of(
        "a.js",
        _SCRIPT,
        "LIMIT names table table.small table.run limit Retry Retry.max Retry.onClick Retry.run",
    ),
    _of(
        "a.ts",
        _SCRIPT
        + """
interface Options·extends·«Base|Other|Options»·{
  retries·«?||Options Options.retries»:·«number|string|Options Options.retries»⁏
  run(·a·:·«string|number|Options Options.run»‸·)·:·void⁏
}
type Name·=·«string|boolean|Name»·&·number⁏
enum Color·{·Red,·Green·=·«"g"|"h"|Color Color.Green»‸·}
export async function wait<·T‸·>(·a·:·«T|number|wait»·)·:·Promise<void>·{
  await a «as|satisfies|wait» string⁏
}
""",
        "LIMIT names table table.small table.run limit Retry Retry.max Retry.onClick Retry.run "
        "Options Options.retries Options.run Name Color Color.Green wait",
    ),
    _of(
        "a.tsx",
        """
        export const Row·=·(·{·items·}·)˙=>·<tr·id=·"«a|b|Row»"·>{·items·}</tr>⁏

        function Cart·(·props·)·{
          const open·=·«1|2|Cart»⁏
          return <div·onClick·=·{·open·}>«two words|two word|Cart»{·props.«a|b|Cart»·}</div>⁏
        }
        """,
        "Row Cart",
        block="",
    ),
    _of(
        "a.go",
        """
        package net

        const Limit˙=·«3|4|Limit»

        const (
            A,·B˙=·iota,·«2|3|A B»
            «C|D|C»
        )

        type Retry˙struct˙{
            Max˙«int|string|Retry Retry.Max»˙«`json:"max"`|`json:"min"`|Retry Retry.Max»
            «Base|Other|Retry»
        }

        type Doer˙interface˙{
            Do(·x·«int|string|Doer Doer.Do»˙)˙error
        }

        func limit(·a·int,·b·«...|[]|limit»string‸˙)˙int˙{
            total := a «+|-|limit» 2⁏
            for i := 0; i < «3|4|limit»; i++ {
                call(·a,·"«x  y|x y|limit»"‸˙)
            }
            return «total|a|limit»⁏
        }

        func (r·«*||Retry.Run»Retry)·Run(·)˙int˙{
            return «1|2|Retry.Run»
        }
        """,
        "Limit A B C Retry Retry.Max Doer Doer.Do limit Retry.Run",
    ),
    _of(
        "a.rs",
        """
        const LIMIT·:·u8·=·«3|4|LIMIT»·;

        #[derive(·«Debug|Clone|Retry»·)]
        pub·struct Retry<·T·>·{
            pub·max·:·«u8|u16|Retry Retry.max»,
            «name|title|Retry Retry.name»:·T‸
        }

        enum Color·{·Red,·Green(·«u8|u16|Color Color.Green»·)‸·}

        pub·trait Doer·{
            fn run(·&·«self|mut self|Doer Doer.run»‸·)·->·u8·;
        }

        impl<·T·:·«Copy|Clone|»·>·Retry<·T·>·{
            pub·fn limit(·&self,·a·:·«u8|u16|Retry.limit»‸·)·->·u8·{
                let total·=·a·«+|-|Retry.limit»·2·;
                let pair·=·(·a·«,||Retry.limit»·)·;
                println!(·"«x  y|x y|Retry.limit» {}",·total·«+|-|Retry.limit»·1‸·)·;
                match total·{·1·=>·«2|3|Retry.limit»,·_·=>·3‸·}
                total«|;|Retry.limit»
            }
        }

        macro_rules! twice·{·(·$x:expr·)·=>·{·$x·«+|-|twice»·$x·}·}
        """,
        "LIMIT Retry Retry.max Retry.name Color Color.Green Doer Doer.run Retry.limit twice",
    ),
    _of(
        "A.java",
        """
        package·a.b·;

        @Ann(·«1|2|Retry»·)
        public·class Retry<·T·>·extends·«Base|Other|Retry»·{
            private·static·final·int LIMIT·=·«3|4|Retry Retry.LIMIT»,·OTHER·=·4·;

            @Override·public·int limit(
                ·int a,·«int|long|Retry.limit» b·)·throws·E·{
                int total·=·a·«+|-|Retry.limit»·2·;
                for·(·int i = 0·;·i < «3|4|Retry.limit»·;·i++·)·{
                    call(·"«x  y|x y|Retry.limit»"·)·;
                }
                return new int[]·{·total,·1‸·}·[·«0|1|Retry.limit»·]·;
            }

            enum Color·{·RED,·GREEN(·«1|2|Retry.Color Retry.Color.GREEN»·)·}

            interface Doer·{·void run(·«int|long|Retry.Doer Retry.Doer.run» a·)·;·}
        }
        """,
        "Retry Retry.LIMIT Retry.limit Retry.Color Retry.Color.GREEN Retry.Doer Retry.Doer.run",
    ),
    _of(
        "A.kt",
        """
        package a.b

        const val LIMIT·=·«3|4|LIMIT»⁏

        open class Retry<·T·>(
            ·val max:·«Int|Long|Retry Retry.max»,·other: Int‸·)·:·«Base|Other|Retry»(·max·)·{
            val size·=·«1|2|Retry Retry.size»⁏

            private fun limit(·a: Int,·b: «Int|Long|Retry.limit»‸·):·Int·{
                val total·=·a «+|-|Retry.limit» 2⁏
                call(·"«x  y|x y|Retry.limit» ${·«a|b|Retry.limit»·} $total",·listOf(1,·2‸·)·)⁏
                return «total|a|Retry.limit»⁏
            }

            companion object {
                const val MAX·=·«1|2|Retry Retry.MAX»
            }
        }

        interface Doer·{
            fun run(·a: «Int|Long|Doer Doer.run»·)
        }

        fun String.shout()·=·this «+|-|String.shout» "!"
        """,
        "LIMIT Retry Retry.max Retry.size Retry.limit Retry.MAX Doer Doer.run String.shout",
    ),
    _of(
        "a.c",
        """
        #define LIMIT «3|4|LIMIT»
        #define MAX(a, b) ˙((a) «>|<|MAX» (b) ? (a) : "«x  y|x y|MAX»")

        static·int count·=·«0|1|count»·;
        extern·int proto(·«int|long|proto» a,·char·«*|**|proto»b·)·;

        struct Retry·{
            int·«max|min|Retry»·;
            char·*·«name|title|Retry»·;
        }·;

        typedef·struct·{·int a·;·}·Node,·«*|**|Node NodePtr»NodePtr·;

        enum Color·{·RED,·GREEN·=·«2|3|Color GREEN»‸·}·;

        static·«int|long|limit»·limit(·int a,·int b·)·{
            int total·=·a·«+|-|limit»·b·;
            for·(·;·«a|b|limit»·;·)·{·call(·"«x  y|x y|limit»"·)·;·}
            return·«total|a|limit»·;
        }
        """,
        "LIMIT MAX count proto Retry Node NodePtr Color GREEN limit",
        indents=True,
    ),
    _of(
        "a.cpp",
        """
        namespace net·{
        const·int kLimit·=·«1|2|kLimit»·;

        class Retry·:·public·«Base|Other|Retry»·{
        public·:
            virtual·int limit(·const·int·«&|&&|Retry.limit Retry»·a·)·const·override·;
            int size(·)·{·return·«1|2|Retry.size»·;·}
            static·constexpr·int kMax·=·«3|4|Retry kMax»·;
        }·;
        }

        template·<·«typename|class|after»·T·>
        T after(·T a·)·{
            auto l·=·[·«&|=|after»·](·int x·)·{·return·x·;·}·;
            return·R"(«x  y|x y|after»)"·«+|-|after»·a·;
        }

        bool·operator«<|>|operator<»(·const·A·&·a,·const·B·&·b·)·{·return·true·;·}

        using Name·=·std::«string|wstring|Name»·;
        """,
        "kLimit Retry Retry.limit Retry.size kMax after operator< Name",
    ),
    _of(
        "A.cs",
        """
        namespace Net.Http·{
        [·Attr(·«1|2|Retry»·)·]
        public·class Retry<·T·>·:·«Base|Other|Retry»·{
            private·const·int Limit·=·«3|4|Retry Retry.Limit»,·Other·=·4·;
            public·int Size·{·get·;·«set|init|Retry Retry.Size»·;·}·=·1·;
            public·int Computed·=>·«1|2|Retry.Computed»·;

            public·async·Task<·int·>·Run(·«int|long|Retry.Run» a·)·{
                int total·=·a·«+|-|Retry.Run»·2·;
                call(·$"«x  y|x y|Retry.Run» {·«a|b|Retry.Run»·}"·)·;
                return·await·«total|a|Retry.Run»·;
            }
        }

        enum Color·{·Red,·Green·=·«2|3|Color Color.Green»‸·}

        interface IDoer·{·void Do(·«int|long|IDoer IDoer.Do» a·)·;·}

        record Point(·«int|long|Point Point.X» X·)·;
        }
        """,
        "Retry Retry.Limit Retry.Size Retry.Computed Retry.Run Color Color.Green IDoer IDoer.Do "
        "Point Point.X",
    ),
    _of(
        "a.rb",
        """
        LIMIT =·«3|4|LIMIT»⁏

        class Retry < «Base|Other|Retry»⁏
          MAX =·[·1,·«5|6|Retry Retry.MAX»‸·]⁏
          attr_reader :«done|ready|Retry Retry.done»⁏

          def limit(·a,·b «=|= -|Retry.limit» 1·)⁏
            total =·a «+|-|Retry.limit»·2⁏
            call(·"«x  y|x y|Retry.limit» #{·«a|b|Retry.limit»·}",·%w[«c|d|Retry.limit» e]‸·)⁏
            total.map { |a«|,|Retry.limit»| «:x|:y|Retry.limit» }⁏
          end⁏

          def self.«build|make|Retry Retry.build» =·new⁏
        end
        """,
        "LIMIT Retry Retry.MAX Retry.done Retry.limit Retry.build",
        line="# %",
        block="",
    ),
    _of(
        "a.php",
        """
        <?php
        const LIMIT·=·«3|4|LIMIT»·;

        #[Attr(·«1|2|Retry»·)]
        abstract·class Retry·extends·«Base|Other|Retry»·{
            public·const MAX·=·[·1,·«5|6|Retry Retry.MAX»‸·]·;
            private·static·?int $done·=·«1|2|Retry Retry.done»·;

            public·function limit(·«int|float|Retry.limit» $a,·$b·=·1‸·)·:·int·{
                $total·=·$a·«+|-|Retry.limit»·2·;
                call(·"«x  y|x y|Retry.limit» $«a|b|Retry.limit» {$a->b}"‸·)·;
                return·«$total|$a|Retry.limit»·;
            }

            abstract·function wanted(·)·:·«void|int|Retry Retry.wanted»·;
        }

        enum Color·:·string·{·case Red·=·«'r'|'s'|Color Color.Red»·;·}
        """,
        "LIMIT Retry Retry.MAX Retry.done Retry.limit Retry.wanted Color Color.Red",
    ),
    _of(
        "a.swift",
        """
        let limit·=·«3|4|limit»⁏

        public class Retry<T>:·«Base|Other|Retry»·{
            static let max·=·[·1,·«5|6|Retry Retry.max»‸·]⁏
            var size:·Int·{·return «1|2|Retry.size»⁏·}

            func run(·_ a:·«Int|Int8|Retry.run»·)·->·Int·{
                let total·=·a «+|-|Retry.run» 2⁏
                call("«x  y|x y|Retry.run» \\(«a|b|Retry.run»)")⁏
                for i in 0«..<|...|Retry.run»3 {·print(i)⁏·}
                return «total|a|Retry.run»⁏
            }
        }

        enum Color:·String·{
            case red·=·«"r"|"s"|Color Color.red»⁏
            case blue
        }

        protocol Doer·{
            func run(·_ a:·«Int|Int8|Doer Doer.run»·)·->·Int
        }
        """,
        "limit Retry Retry.max Retry.size Retry.run Color Color.red Doer Doer.run",
        block="",
    ),
    _of(
        "a.sh",
        """
        LIMIT=«3|4|LIMIT»⁏
        export FOLDER="$LIMIT/«a  b|a b|FOLDER»"⁏

        before()˙ {
            local total="$«1|2|before»"⁏
            if [ "$total" «-gt|-lt|before» 1 ]; then
                echo  "«x  y|x y|before»"  «'z'|'w'|before»⁏
            fi
            call a «b|c|before» ˙| grep -v «x|y|before»⁏
        }

        limit()˙ {
            for i in 1 «2|3|limit»; do
                x=$(( i «+|-|limit» 1 ))⁏
            done
            return «1|0|limit»⁏
        }
        """,
        "LIMIT FOLDER before limit",
        line="# %",
        block="",
    ),
    _of(
        "a.json",
        """
        {·"name"·:·«"x  y"|"x y"|name»,·"scripts"·:·{
          "build"·:·«"tsc -p"|"tsc"|scripts scripts.build»,
          "deep"·:·{·"a"·:·[·1,·«true|false|scripts.deep scripts.deep.a»·]·}
        }·}
        """,
        "name scripts scripts.build scripts.deep scripts.deep.a",
    ),
    _of(
        "a.toml",
        """
        name˙ =˙ «"x  y"|"x y"|name»

        [tool.ruff]
        line-length˙ =˙ «100|120|tool.ruff tool.ruff.line-length»
        lint.select˙ =˙ [·"E",·«"F"|"G"|tool.ruff.lint tool.ruff.lint.select»‸·]
        inline˙ =˙ {˙ a˙ =˙ «1|2|tool.ruff.inline tool.ruff.inline.a»˙ }
        """,
        "name tool.ruff tool.ruff.line-length tool.ruff.lint tool.ruff.lint.select "
        "tool.ruff.inline tool.ruff.inline.a",
        line="# %",
        block="",
    ),
    _of(
        "a.yml",
        """
        name: ˙«x y|x z|name»
        on:
          push:
            branches: [·main,·«'dev'|'prod'|on.push on.push.branches»‸·]
        jobs:
          build:
            steps:
              - uses: ˙«a|b|jobs.build jobs.build.steps»
              - «run|name|jobs.build jobs.build.steps»: c
            env: {·A: ˙"«1|2|jobs.build.env jobs.build.env.A»"·}
        """,
        "name on.push on.push.branches jobs.build jobs.build.steps jobs.build.env jobs.build.env.A",
        line="# %",
        block="",
        indents=False,
        wrap="\n" + " " * 20,
    ),
]
