"""The same small file in many languages: three functions, of which `limit` is looked at.

Each source has the marks `1`, `2` and `3` in the three bodies and nowhere else; `signature` is a
part of the line that defines `limit`, and `more` is another function.
"""

import re
from dataclasses import dataclass
from textwrap import dedent, indent


@dataclass(frozen=True)
class Language:
    """One language: its file, and how its second function is changed."""

    path: str
    source: str
    signature: tuple[str, str]
    more: str
    depth: str = ""

    @property
    def body_edited(self) -> str:
        return self.source.replace("2", "7")

    @property
    def signature_edited(self) -> str:
        return self.source.replace(*self.signature)

    @property
    def first_edited(self) -> str:
        return self.source.replace("1", "8")

    @property
    def last_edited(self) -> str:
        return self.source.replace("3", "9")

    @property
    def around_edited(self) -> str:
        return self.source.replace("1", "8").replace("3", "9")

    @property
    def reindented(self) -> str:
        wider = re.sub(r"^ +", lambda found: found[0] * 2, self.source, flags=re.MULTILINE)
        return wider.replace("\n", "\n\n").replace("(", "( ")

    @property
    def reindented_and_edited(self) -> str:
        return self.reindented.replace("2", "7")

    def part(self, mark: str) -> str:
        """Return the function that holds the mark."""
        return next(block for block in self.source.split("\n\n") if mark in block)

    @property
    def with_more_behind(self) -> str:
        part = self.part("2")
        return self.source.replace(part, f"{part}\n\n{self.more_block}")

    @property
    def with_more_in_front(self) -> str:
        part = self.part("2")
        return self.source.replace(part, f"{self.more_block}\n\n{part}")

    @property
    def more_block(self) -> str:
        return indent(dedent(self.more).strip("\n"), self.depth)

    @property
    def without_the_next(self) -> str:
        return self.source.replace(self.part("3") + "\n\n", "")

    @property
    def without_the_one_before(self) -> str:
        return self.source.replace(self.part("1") + "\n\n", "")

    @property
    def without_it(self) -> str:
        return self.source.replace(self.part("2") + "\n\n", "")

    @property
    def moved_to_the_front(self) -> str:
        part, first = self.part("2"), self.part("1")
        return self.without_it.replace(first, f"{part}\n\n{first}")


def _of(path, source, signature, more, depth=""):
    return Language(path, dedent(source).lstrip("\n"), signature, more, depth)


LANGUAGES = [
    _of(
        "retry.go",
        """
        package retry

        func before(a int) int {
            return limit(a) + 1
        }

        func (r *Retry) limit(a int) int {
            total := a
            return total + 2
        }

        func after(a int) int {
            limit(a)
            return 3
        }

        var done = true
        """,
        ("limit(a int) int {", "limit(a, b int) int {"),
        "func more() int {\n    return 4\n}",
    ),
    _of(
        "retry.rs",
        """
        use std::fmt;

        fn before(a: u8) -> u8 {
            limit(a) + 1
        }

        pub(crate) fn limit<T: Copy>(a: T) -> T {
            let total = a;
            total + 2
        }

        #[inline]
        fn after(a: u8) -> u8 {
            limit(a);
            3
        }

        const DONE: bool = true;
        """,
        ("limit<T: Copy>(a: T)", "limit<T: Clone>(a: T, b: T)"),
        "/// Words.\nfn more() -> u8 {\n    4\n}",
    ),
    _of(
        "Retry.java",
        """
        class Retry {
            private int before(int a) {
                return limit(a) + 1;
            }

            @Override
            public static int limit(int a) throws Exception {
                int total = a;
                return total + 2;
            }

            int after(int a) {
                limit(a);
                return 3;
            }

            boolean done = true;
        }
        """,
        ("limit(int a)", "limit(int a, int b)"),
        "/** Words. */\nint more() {\n    return 4;\n}",
        "    ",
    ),
    _of(
        "Retry.kt",
        """
        class Retry {
            private fun before(a: Int): Int {
                return limit(a) + 1
            }

            override fun limit(a: Int): Int {
                val total = a
                return total + 2
            }

            fun after(a: Int) {
                limit(a)
                println(3)
            }

            val done = true
        }
        """,
        ("limit(a: Int)", "limit(a: Int, b: Int)"),
        "fun more(): Int {\n    return 4\n}",
        "    ",
    ),
    _of(
        "retry.c",
        """
        #include <stdio.h>

        static int before(int a)
        {
            return limit(a) + 1;
        }

        static unsigned int limit(int a)
        {
            int total = a;
            return total + 2;
        }

        int after(int a)
        {
            limit(a);
            return 3;
        }

        int done = 0;
        """,
        ("limit(int a)", "limit(int a, int b)"),
        "/* Words. */\nint more(void)\n{\n    return 4;\n}",
    ),
    _of(
        "retry.cpp",
        """
        namespace net {

        int Retry::before(int a) {
          return limit(a) + 1;
        }

        std::vector<int> Retry::limit(const int& a) const {
          auto total = a;
          return {total + 2};
        }

        template <typename T>
        T after(T a) {
          limit(a);
          return 3;
        }

        bool done = true;
        }  // namespace net
        """,
        ("limit(const int& a)", "limit(const int& a, int b)"),
        "int more() {\n  return 4;\n}",
    ),
    _of(
        "Retry.cs",
        """
        class Retry
        {
            private int before(int a)
            {
                return limit(a) + 1;
            }

            public async Task<int> limit(int a)
            {
                var total = a;
                return await total.Add(2);
            }

            int after(int a)
            {
                limit(a);
                return 3;
            }

            bool done = true;
        }
        """,
        ("limit(int a)", "limit(int a, int b)"),
        "int more()\n{\n    return 4;\n}",
        "    ",
    ),
    _of(
        "retry.rb",
        """
        class Retry
          def before(a)
            limit(a) + 1
          end

          def limit(a)
            total = a
            total + 2
          end

          def after(a)
            limit(a)
            3
          end

          attr_reader :done
        end
        """,
        ("limit(a)\n    total", "limit(a, b)\n    total"),
        "# Words.\ndef more\n  4\nend",
        "  ",
    ),
    _of(
        "retry.php",
        """
        <?php

        class Retry
        {
            private function before($a)
            {
                return $this->limit($a) + 1;
            }

            public static function limit(int $a): int
            {
                $total = $a;
                return $total + 2;
            }

            function after($a)
            {
                limit($a);
                return 3;
            }

            public $done = true;
        }
        """,
        ("limit(int $a)", "limit(int $a, $b)"),
        "function more()\n{\n    return 4;\n}",
        "    ",
    ),
    _of(
        "Retry.swift",
        """
        class Retry {
            private func before(_ a: Int) -> Int {
                return limit(a) + 1
            }

            static func limit<T>(_ a: T) -> T {
                let total = a
                return total + 2
            }

            func after(_ a: Int) -> Int {
                limit(a)
                return 3
            }

            var done = true
        }
        """,
        ("limit<T>(_ a: T)", "limit<T>(_ a: T, b: T)"),
        "/// Words.\nfunc more() -> Int {\n    return 4\n}",
        "    ",
    ),
    _of(
        "retry.sh",
        """
        #!/bin/sh

        before() {
            limit "$a"
            echo 1
        }

        limit() {
            local total="$a"
            echo "$total" 2
        }

        after() {
            limit "$a"
            echo 3
        }

        before
        """,
        ("limit() {", "function limit() {"),
        "# Words.\nmore() {\n    echo 4\n}",
    ),
    _of(
        "retry.ts",
        """
        import { total } from "./total";

        export function before(a: number): number {
          return limit(a) + 1;
        }

        export const limit = async (a: number): Promise<number> => {
          const sum = total(a);
          return sum + 2;
        };

        export default function after(a: number) {
          limit(a);
          return 3;
        }

        export const done = true;
        """,
        ("limit = async (a: number)", "limit = async (a: number, b: number)"),
        "/** Words. */\nexport function more() {\n  return 4;\n}",
    ),
    _of(
        "retry.tsx",
        """
        export class Retry<T> {
          private before(a: number): number {
            return this.limit(a) + 1;
          }

          async limit(a: number): Promise<number> {
            const sum = a;
            return sum + 2;
          }

          get after(): number {
            this.limit(0);
            return 3;
          }

          done = true;
        }
        """,
        ("limit(a: number)", "limit(a: number, b: number)"),
        "more(): number {\n  return 4;\n}",
        "  ",
    ),
    _of(
        "retry.js",
        """
        const total = require("./total");

        function before(a) {
          return limit(a) + 1;
        }

        function* limit(a) {
          const sum = total(a);
          yield sum + 2;
        }

        module.exports.after = function after(a) {
          limit(a, () => {
            return 3;
          });
        };

        module.exports.done = true;
        """,
        ("limit(a) {\n  const", "limit(a, b) {\n  const"),
        "// Words.\nfunction more() {\n  return 4;\n}",
    ),
]
