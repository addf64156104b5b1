package shop;
public class Shop {
    final static int LIMIT = 3;
    static final long WAIT = 10l;
    private String[] names = { "a", "b" };
    enum Kind { OPEN, CLOSED; }
    public int total(int[] lines) {
        int sum = 0;
        for (int line : lines) sum += (line);
        if (sum > LIMIT) {
            throw new IllegalStateException("the total of this order is larger than the limit " + "that was set for it, and this is a long text " + sum);
        }
        Runnable done = () -> { };
        java.util.function.Function<Integer,Integer> twice = (x) -> x * 2;
        return sum;
    }
    String page() {
        return """
               <p>
               one
               </p>
               """; }
}
