import java.util.List;

class Ledger {
    private final List<Row> rows;;

    Ledger(List<Row> rows) {
        this.rows = rows;
    };

    String help() {
        return """
               Usage: ledger
               --all   every row
               """;
    }

    boolean isOpen(Row row, boolean force) {
        boolean isNew = row != null && (row.isNew() && !row.isClosed());
        return force || (isNew || (row.amount() > 0 && rows.contains(row)));
    }

    record Row(String name, long amount, boolean isNew, boolean isClosed) { }
}
