namespace Shop;

class Rows
{
    static string Query() => """
    select a,   b
    from rows where total >   3
    """;

    static int Total(int a) {
        return a+1;
    }
}
