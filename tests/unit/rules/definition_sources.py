"""One small file in each language, with the definitions that it holds: name, kind, lines."""

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Sample:
    """A file, and its definitions, one a line: `Retry.limit function 12-15`."""

    path: str
    source: str
    expected: str

    @property
    def rows(self):
        return [tuple(line.rsplit(" ", 2)) for line in self.expected.splitlines()]


def _of(path, source, expected):
    return Sample(path, dedent(source).lstrip("\n"), dedent(expected).strip())


SAMPLES = [
    _of(
        "net/retry.ts",
        """
        import { open } from "./open";

        export const LIMIT = 3, OTHER = `a ${LIMIT} b`;
        const { one, two: three = 1, ...rest } = open(), [four] = [1];

        export const fetch = async <T,>(url: string): Promise<T> => {
          const inner = 1;
          return open(url);
        };

        export default function after(a: number) {
          function nested() {}
          return 3;
        }

        export interface Options extends Base {
          retries: number;
          run(a: string): void;
        }

        export type Name = string | number;

        export enum Color {
          Red,
          Green = "g",
        }

        declare function ambient(a: number): void;

        @decorated({ a: 1 })
        export abstract class Retry<T> extends Base implements Options {
          static readonly max = 5;
          private onClick = () => {
            this.x();
          };
          #secret?: string;

          constructor(private readonly limit: number) {
            super();
          }

          get size(): number {
            return 1;
          }

          abstract wait(): void;
        }

        namespace Net.Inner {
          export const deep = 1;
        }

        const table = { small: 1, run() {}, call: (x) => x, "quoted-key": 2 };

        function over(a: string): void;
        function over(a: any) {}
        """,
        """
        LIMIT value 3-3
        OTHER value 3-3
        one value 4-4
        three value 4-4
        rest value 4-4
        four value 4-4
        fetch function 6-9
        after function 11-14
        after.nested function 12-12
        Options type 16-19
        Options.retries value 17-17
        Options.run function 18-18
        Name type 21-21
        Color type 23-26
        Color.Red value 24-24
        Color.Green value 25-25
        ambient function 28-28
        Retry type 31-47
        Retry.max value 32-32
        Retry.onClick function 33-35
        Retry.secret value 36-36
        Retry.constructor function 38-40
        Retry.size function 42-44
        Retry.wait function 46-46
        Net.Inner type 49-51
        Net.Inner.deep value 50-50
        table value 53-53
        table.small value 53-53
        table.run function 53-53
        table.call function 53-53
        table.quoted-key value 53-53
        over function 55-55
        over function 56-56
        """,
    ),
    _of(
        "src/Cart.tsx",
        """
        import React from "react";

        type Props = { items: Item[]; onClose?: () => void };

        export function Cart({ items }: Props) {
          const [open, setOpen] = useState(false);
          const onClick = () => {
            setOpen(!open);
          };
          return <div onClick={onClick}>{items.length} items</div>;
        }

        export const Row: React.FC<Props> = ({ items }) => (
          <tr>{items}</tr>
        );

        export const Memo = React.memo(Cart);

        Cart.displayName = "Cart";

        class Boundary extends React.Component<Props> {
          state = { failed: false };

          render() {
            return this.state.failed ? null : this.props.children;
          }
        }

        export const useCart = function () {
          return useContext(CartContext);
        };
        """,
        """
        Props type 3-3
        Props.items value 3-3
        Props.onClose value 3-3
        Cart function 5-11
        Cart.onClick function 7-9
        Row function 13-15
        Memo value 17-17
        Cart.displayName value 19-19
        Boundary type 21-27
        Boundary.state value 22-22
        Boundary.state.failed value 22-22
        Boundary.render function 24-26
        useCart function 29-31
        """,
    ),
    _of(
        "lib/retry.mjs",
        """
        "use strict";

        module.exports.after = function after(a) {
          return 3;
        };
        exports.done = true;

        Retry.prototype.limit = function () {
          return 1;
        };

        module.exports = {
          build() {},
          wait: 3,
        };

        function* gen(a) {
          yield 1;
        }

        class A extends B {
          static x = 1;
          #hidden = 2;
          static {
            init();
          }
          m() {
            return `a${1}`;
          }
        }

        const C = () => <div a="1"> text {x} </div>;

        describe("x", () => {
          const local = 1;
          function helper() {}
        });
        """,
        """
        after function 3-5
        done value 6-6
        Retry.limit function 8-10
        build function 13-13
        wait value 14-14
        gen function 17-19
        A type 21-30
        A.x value 22-22
        A.hidden value 23-23
        A.m function 27-29
        C function 32-32
        helper function 36-36
        """,
    ),
    _of(
        "retry.go",
        """
        package retry

        const Limit = 3

        const (
            A, B = iota, 2
            C
        )

        var done, undone = true, false

        type Retry struct {
            Max  int `json:"max"`
            a, b string
            Base
        }

        type Doer interface {
            Do(x int) error
        }

        type (
            ID   = string
            Pair[K comparable, V any] struct{ Key K }
        )

        func limit(a int) int {
            x := func() { y := 1 }
            return a
        }

        func (r *Retry) Run(a int) int {
            return 1
        }

        func (p Pair[K, V]) Get() (k K) { return }
        """,
        """
        Limit value 3-3
        A value 6-6
        B value 6-6
        C value 7-7
        done value 10-10
        undone value 10-10
        Retry type 12-16
        Retry.Max value 13-13
        Retry.a value 14-14
        Retry.b value 14-14
        Doer type 18-20
        Doer.Do function 19-19
        ID type 23-23
        Pair type 24-24
        Pair.Key value 24-24
        limit function 27-30
        Retry.Run function 32-34
        Pair.Get function 36-36
        """,
    ),
    _of(
        "src/retry.rs",
        """
        use std::fmt;

        const LIMIT: u8 = 3;
        static mut DONE: bool = true;
        type Name = String;

        #[derive(Debug)]
        pub struct Retry<T> {
            pub max: u8,
            name: T,
        }

        struct Unit;
        struct Pair(u8, u8);

        enum Color {
            Red,
            Green(u8),
            Blue { x: u8 },
        }

        pub trait Doer {
            const K: u8;
            type Out;
            fn run(&self) -> u8;
            fn again(&self) -> u8 {
                1
            }
        }

        impl<T: Copy> Retry<T> {
            const MAX: u8 = 1;

            pub fn limit(&self) -> u8 {
                fn inner() {}
                1
            }
        }

        impl<T> fmt::Display for net::Other<T> {
            fn fmt(&self) -> u8 {
                1
            }
        }

        mod net {
            pub fn deep() {}
        }

        macro_rules! my_mac {
            ($x:expr) => { $x + 1 };
        }

        pub(crate) async fn free<T: Copy>(a: T) -> T where T: Clone {
            a
        }
        """,
        """
        LIMIT value 3-3
        DONE value 4-4
        Name type 5-5
        Retry type 8-11
        Retry.max value 9-9
        Retry.name value 10-10
        Unit type 13-13
        Pair type 14-14
        Color type 16-20
        Color.Red value 17-17
        Color.Green value 18-18
        Color.Blue value 19-19
        Color.Blue.x value 19-19
        Doer type 22-29
        Doer.K value 23-23
        Doer.Out value 24-24
        Doer.run function 25-25
        Doer.again function 26-28
        Retry.MAX value 32-32
        Retry.limit function 34-37
        Retry.limit.inner function 35-35
        net.Other.fmt function 41-43
        net type 46-48
        net.deep function 47-47
        my_mac function 50-52
        free function 54-56
        """,
    ),
    _of(
        "src/a/Retry.java",
        """
        package a.b;

        @Ann(1)
        public class Retry<T> extends Base implements Doer {
            private static final int LIMIT = 3, OTHER = 4;

            static {
                init();
            }

            public Retry(int a) {
                this.a = a;
            }

            @Override
            public int limit(int a) throws E {
                int x = 1;
                Runnable r = () -> { int q = 1; };
                return x;
            }

            abstract void wanted();

            class Inner {
                int deep;
            }

            enum Color {
                RED, GREEN(1) {
                    void x() {}
                };
                int v;
            }

            interface Doer {
                int K = 1;
                void run();
            }

            record Point(int x, int y) {
                Point {}
            }

            @interface Marker {
                int value() default 1;
            }
        }
        """,
        """
        Retry type 3-47
        Retry.LIMIT value 5-5
        Retry.OTHER value 5-5
        Retry.Retry function 11-13
        Retry.limit function 15-20
        Retry.wanted function 22-22
        Retry.Inner type 24-26
        Retry.Inner.deep value 25-25
        Retry.Color type 28-33
        Retry.Color.RED value 29-29
        Retry.Color.GREEN value 29-31
        Retry.Color.GREEN.x function 30-30
        Retry.Color.v value 32-32
        Retry.Doer type 35-38
        Retry.Doer.K value 36-36
        Retry.Doer.run function 37-37
        Retry.Point type 40-42
        Retry.Point.x value 40-40
        Retry.Point.y value 40-40
        Retry.Point.Point function 41-41
        Retry.Marker type 44-46
        Retry.Marker.value function 45-45
        """,
    ),
    _of(
        "src/Retry.kt",
        """
        package a.b

        const val LIMIT = 3
        val (one, two) = pair()
        typealias Name = String

        open class Retry<T>(val max: Int, other: Int) : Base(max), Doer {
            val size: Int
                get() = 1

            init {
                val local = 1
            }

            constructor(a: String) : this(1, 2) {
                x()
            }

            private fun limit(a: Int): Int {
                fun inner() {}
                val x = 1
                return a
            }

            companion object {
                const val MAX = 1
                fun of() = Retry(1)
            }

            inner class Inner {
                val deep = 1
            }
        }

        interface Doer {
            fun run(a: Int)
        }

        enum class Color(val v: Int) {
            RED(1),
            GREEN(2);

            fun y() = 1
        }

        object Single {
            var x = 1
        }

        fun String.shout(): String = this + "!"
        """,
        """
        LIMIT value 3-3
        one value 4-4
        two value 4-4
        Name type 5-5
        Retry type 7-33
        Retry.max value 7-7
        Retry.size function 8-9
        Retry.constructor function 15-17
        Retry.limit function 19-23
        Retry.limit.inner function 20-20
        Retry.MAX value 26-26
        Retry.of function 27-27
        Retry.Inner type 30-32
        Retry.Inner.deep value 31-31
        Doer type 35-37
        Doer.run function 36-36
        Color type 39-44
        Color.v value 39-39
        Color.RED value 40-40
        Color.GREEN value 41-41
        Color.y function 43-43
        Single type 46-48
        Single.x value 47-47
        String.shout function 50-50
        """,
    ),
    _of(
        "retry.c",
        """
        #include <stdio.h>
        #define LIMIT 3
        #define MAX(a, b) ((a) > (b) ? \\
            (a) : (b))

        static int count = 0, *ptr, arr[3] = {1, 2};
        extern int proto(int a, char *b);

        struct Retry {
            int max;
            char *name;
            unsigned bit : 1;
        };

        typedef struct Node {
            struct Node *next;
        } Node, *NodePtr;

        typedef int (*callback)(int a);

        enum Color {
            RED,
            GREEN = 2,
        };

        union U { int a; };

        #ifdef X
        static unsigned int *limit(int a)
        {
            int local = 1;
            return ptr;
        }
        #endif

        int (*hook)(int) = 0;
        """,
        """
        LIMIT value 2-2
        MAX function 3-4
        count value 6-6
        ptr value 6-6
        arr value 6-6
        proto function 7-7
        Retry type 9-13
        Retry.max value 10-10
        Retry.name value 11-11
        Retry.bit value 12-12
        Node type 15-17
        NodePtr type 15-17
        Node.Node type 15-17
        Node.Node.next value 16-16
        callback type 19-19
        Color type 21-24
        Color.RED value 22-22
        Color.GREEN value 23-23
        U type 26-26
        U.a value 26-26
        limit function 29-33
        hook value 36-36
        """,
    ),
    _of(
        "net/retry.cpp",
        """
        #include "retry.h"

        namespace net {
        const int kLimit = 1;

        class Retry : public Base {
         public:
          explicit Retry(int a);
          ~Retry();
          virtual int limit(const int& a) const override;
          int size() { return 1; }
          bool operator==(const Retry& o) const;
          static constexpr int kMax = 3;
          enum class State { Open, Shut };
          using Value = int;

         private:
          std::vector<int> values_{1};
        };
        }  // namespace net

        namespace a::b {
        void g();
        }

        int net::Retry::limit(const int& a) const {
          auto l = [&](int x) { int q; return x; };
          return a;
        }

        net::Retry::~Retry() {}

        template <typename T>
        T after(T a) {
          return a;
        }

        template <typename T>
        void Box<T>::put(T t) {}

        using Name = std::string;
        enum class Color : int { Red, Green };
        int a::b::kStatic = 3;
        """,
        """
        net.kLimit value 4-4
        net.Retry type 6-19
        net.Retry.Retry function 8-8
        net.Retry.~Retry function 9-9
        net.Retry.limit function 10-10
        net.Retry.size function 11-11
        net.Retry.operator== function 12-12
        net.Retry.kMax value 13-13
        net.Retry.State type 14-14
        net.Retry.State.Open value 14-14
        net.Retry.State.Shut value 14-14
        net.Retry.Value type 15-15
        net.Retry.values_ value 18-18
        a.b.g function 23-23
        net.Retry.limit function 26-29
        net.Retry.~Retry function 31-31
        after function 34-36
        Box.put function 39-39
        Name type 41-41
        Color type 42-42
        Color.Red value 42-42
        Color.Green value 42-42
        a.b.kStatic value 43-43
        """,
    ),
    _of(
        "Net/Retry.cs",
        """
        using System;

        namespace Net.Http
        {
            [Attr(1)]
            public partial class Retry<T> : Base where T : class
            {
                private const int Limit = 3, Other = 4;
                public int Size { get; set; } = 1;
                public int Computed => 1;
                public event Action Done;

                public Retry(int a) : base(a) { }
                ~Retry() { }

                public async Task<int> Run(int a)
                {
                    int x = 1;
                    int Local(int q) { return q; }
                    return await x.Add(2);
                }

                public static Retry operator +(Retry a, Retry b) => a;
                public int this[int i] => i;
                delegate int Call(int a);
            }

            interface IDoer
            {
                void Do(int a);
            }

            enum Color { Red, Green = 2 }

            record Point(int X, int Y);
        }
        """,
        """
        Net.Http.Retry type 5-26
        Net.Http.Retry.Limit value 8-8
        Net.Http.Retry.Other value 8-8
        Net.Http.Retry.Size value 9-9
        Net.Http.Retry.Computed function 10-10
        Net.Http.Retry.Done value 11-11
        Net.Http.Retry.Retry function 13-13
        Net.Http.Retry.~Retry function 14-14
        Net.Http.Retry.Run function 16-21
        Net.Http.Retry.Run.Local function 19-19
        Net.Http.Retry.operator+ function 23-23
        Net.Http.Retry.this function 24-24
        Net.Http.Retry.Call type 25-25
        Net.Http.IDoer type 28-31
        Net.Http.IDoer.Do function 30-30
        Net.Http.Color type 33-33
        Net.Http.Color.Red value 33-33
        Net.Http.Color.Green value 33-33
        Net.Http.Point type 35-35
        Net.Http.Point.X value 35-35
        Net.Http.Point.Y value 35-35
        """,
    ),
    _of(
        "lib/retry.rb",
        """
        LIMIT = 3
        A, B = 1, 2
        local = 4

        module Net
          class Retry < Base
            MAX = 5
            attr_reader :done, :other

            def initialize(a)
              @a = a
            end

            def limit(a)
              total = a
              total
            end

            def self.build = new

            def ==(other) = true

            def size? = 1

            class << self
              def meta; end
            end

            private def hidden; end

            Point = Struct.new(:x) do
              def dist; end
            end

            alias_method :cap, :limit
          end
        end

        class Net::Other
          def a; end
        end

        def top
          1
        end
        """,
        """
        LIMIT value 1-1
        A value 2-2
        B value 2-2
        Net type 5-37
        Net.Retry type 6-36
        Net.Retry.MAX value 7-7
        Net.Retry.done value 8-8
        Net.Retry.other value 8-8
        Net.Retry.initialize function 10-12
        Net.Retry.limit function 14-17
        Net.Retry.build function 19-19
        Net.Retry.== function 21-21
        Net.Retry.size? function 23-23
        Net.Retry.meta function 26-26
        Net.Retry.hidden function 29-29
        Net.Retry.Point value 31-33
        Net.Retry.Point.dist function 32-32
        Net.Retry.cap value 35-35
        Net.Other type 39-41
        Net.Other.a function 40-40
        top function 43-45
        """,
    ),
    _of(
        "src/Retry.php",
        """
        <?php

        namespace Net\\Http;

        const LIMIT = 3, OTHER = 4;
        define('GLOBAL_LIMIT', 1);
        $top = 1;

        #[Attr(1)]
        abstract class Retry extends Base implements Doer
        {
            use Mixin;

            public const MAX = 5;
            private static ?int $done = 1, $x;

            public function __construct(private int $a, int $b)
            {
            }

            public static function limit(int $a): int
            {
                $total = $a;
                return $total;
            }

            abstract protected function wanted(): void;
        }

        interface Doer
        {
            public function run(int $a);
        }

        trait Mixin
        {
            function m() {}
        }

        enum Color: string
        {
            case Red = 'r';
        }

        function free($a)
        {
            return 1;
        }
        """,
        """
        LIMIT value 5-5
        OTHER value 5-5
        GLOBAL_LIMIT value 6-6
        top value 7-7
        Retry type 9-28
        Retry.MAX value 14-14
        Retry.done value 15-15
        Retry.x value 15-15
        Retry.__construct function 17-19
        Retry.limit function 21-25
        Retry.wanted function 27-27
        Doer type 30-33
        Doer.run function 32-32
        Mixin type 35-38
        Mixin.m function 37-37
        Color type 40-43
        Color.Red value 42-42
        free function 45-48
        """,
    ),
    _of(
        "Sources/Retry.swift",
        """
        import Foundation

        let limit = 3
        var (a, b) = (1, 2)
        typealias Name = String

        @objc public class Retry<T>: Base, Doer {
            static let max = 5
            var size: Int { return 1 }
            lazy var z: Int = 1

            init(a: Int) {
                self.a = a
            }

            deinit {
                x()
            }

            func run(_ a: Int) -> Int {
                let total = a
                func inner() {}
                return total
            }

            subscript(i: Int) -> Int { return i }
        }

        struct Point {
            let x: Int, y: Int
        }

        enum Color: String {
            case red = "r", green
            case blue
            func f() {}
        }

        protocol Doer {
            func run(_ a: Int) -> Int
            var p: Int { get }
            associatedtype T
        }

        extension Retry: Other {
            func ext() -> String { return "b" }
        }

        actor Act {
            func g() {}
        }
        """,
        """
        limit value 3-3
        a value 4-4
        b value 4-4
        Name type 5-5
        Retry type 7-27
        Retry.max value 8-8
        Retry.size function 9-9
        Retry.z value 10-10
        Retry.init function 12-14
        Retry.deinit function 16-18
        Retry.run function 20-24
        Retry.run.inner function 22-22
        Retry.subscript function 26-26
        Point type 29-31
        Point.x value 30-30
        Point.y value 30-30
        Color type 33-37
        Color.red value 34-34
        Color.green value 34-34
        Color.blue value 35-35
        Color.f function 36-36
        Doer type 39-43
        Doer.run function 40-40
        Doer.p value 41-41
        Doer.T value 42-42
        Retry.ext function 46-46
        Act type 49-51
        Act.g function 50-50
        """,
    ),
    _of(
        "bin/retry.sh",
        """
        #!/bin/bash
        LIMIT=3
        export FOLDER="$LIMIT/a b"
        readonly A=1 B=2
        declare -r C=3
        LIST=(1 2)
        QUIET=1 run --fast

        before() {
            local total="$1"
            x=2
            echo "a  b"
        }

        function limit {
            echo 1
        }

        function net::after() (
            cat <<EOF
          text $LIMIT
        EOF
        )

        if true; then
            MODE=1
        fi
        """,
        """
        LIMIT value 2-2
        FOLDER value 3-3
        A value 4-4
        B value 4-4
        C value 5-5
        LIST value 6-6
        before function 9-13
        limit function 15-17
        net.after function 19-23
        MODE value 26-26
        """,
    ),
    _of(
        "package.json",
        """
        {
          "name": "retry",
          "scripts": {
            "build": "tsc -p .",
            "test:unit": "jest"
          },
          "dependencies": {
            "@types/node": "^20",
            "lodash.merge": "4"
          },
          "files": ["lib", { "deep": 1 }],
          "config": { "limits": { "small": 1 } }
        }
        """,
        """
        name key 2-2
        scripts key 3-6
        scripts.build key 4-4
        scripts.test:unit key 5-5
        dependencies key 7-10
        dependencies.@types/node key 8-8
        dependencies.lodash.merge key 9-9
        files key 11-11
        config key 12-12
        config.limits key 12-12
        config.limits.small key 12-12
        """,
    ),
    _of(
        "pyproject.toml",
        """
        title = "x"

        [project]
        name = "retry"
        urls = { home = "https://example.org", "issue list" = "x" }

        [tool.ruff]
        line-length = 100
        lint.select = ["E", 'F']

        [[tool.mypy.overrides]]
        module = "a"

        [[tool.mypy.overrides]]
        module = "b"

        ["quoted.key".x]
        y = 1979-05-27
        """,
        """
        title key 1-1
        project key 3-5
        project.name key 4-4
        project.urls key 5-5
        project.urls.home key 5-5
        project.urls.issue list key 5-5
        tool key 7-9
        tool.ruff key 7-9
        tool.ruff.line-length key 8-8
        tool.ruff.lint key 9-9
        tool.ruff.lint.select key 9-9
        tool.mypy key 11-12
        tool.mypy.overrides key 11-12
        quoted.key key 17-18
        quoted.key.x key 17-18
        quoted.key.x.y key 18-18
        """,
    ),
    _of(
        ".github/workflows/ci.yml",
        """
        # words
        name: x
        on:
          push:
            branches: [main, 'dev']
        jobs:
          build:
            steps:
              - uses: a
                with: {k: 1}
              - run: |
                  one
            env: &e
              A: "1"
          other:
            text: plain
              folded
        "quoted key": 1
        ---
        second: {a: 1}
        """,
        """
        name key 2-2
        on key 3-5
        on.push key 4-5
        on.push.branches key 5-5
        jobs key 6-17
        jobs.build key 7-14
        jobs.build.steps key 8-12
        jobs.build.env key 13-14
        jobs.build.env.A key 14-14
        jobs.other key 15-17
        jobs.other.text key 16-17
        quoted key key 18-18
        second key 20-20
        second.a key 20-20
        """,
    ),
]
