package shop;

class Blocks {
    // language=java
    static final String SAMPLE = """
                                 enum Colour { RED, GREEN; }
    class Cart {
        int total( int a ) {
            return a-1 > 0 ? a : 0;
        }
    }
    """;

    static void check() {
        run(
            //language=json
            """
            {"name":"shop",
             "tries": [3,4]
            }
            """);
    }

    static String banner() {
        return """
               Welcome,
               to the shop
               """;
    }
}
