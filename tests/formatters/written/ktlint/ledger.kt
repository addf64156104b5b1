package ledger

class Ledger(
    private val rows: List<Row>,
) {
    fun help(name: String): String {
        val usage =
            """
            Usage: ledger $name
              --all   every row, of ${rows.size}
            """.trimIndent()
        return usage
    }

    fun sign(kind: Kind): Int =
        when (kind) {
            Kind.DEBIT, Kind.FEE,
            Kind.TAX,
            -> {
                -1
            }

            Kind.CREDIT -> {
                check(rows.isNotEmpty()) { "There is no row." }
                1
            }

            else -> {
                throw IllegalArgumentException("No sign for $kind")
            }
        }

    fun total(
        from: Int,
        to: Int,
    ): Long {
        if (from > to) {
            return 0
        } else if (from == to) {
            return rows[from].amount
        }
        @Suppress("UNCHECKED_CAST")
        val list = rows as List<Row>

        @Suppress("MagicNumber")
        val limit = minOf(to, 500)
        var sum = 0L
        for (at in from until limit) {
            sum += list[at].amount
        }
        return if (sum < 0) {
            -sum
        } else {
            sum
        }
    }
}
