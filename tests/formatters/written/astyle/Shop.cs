namespace Shop
{
public class Basket {
    private readonly int limit=3;
    public int Size {
        get;
        set;
    }
    public int Total( int[] lines ) {
        var sum=0;
        foreach(var line in lines) {
            sum+=(line);
        }
        System.Func<int,int> twice = (x) => x*2;
        return twice( sum );
    }
}
enum Kind { Open, Closed, }
}
