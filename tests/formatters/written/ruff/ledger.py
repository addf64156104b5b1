first = lambda row: row[:1]


def by_name(rows, reverse=False):
    key = lambda row: row["name"].lower()
    return sorted(rows, key=key, reverse=reverse)


class Ledger:
    sign = lambda self, kind: -1 if kind == "debit" else 1

    def total(self, rows):
        return sum(self.sign(row["kind"]) * row["amount"] for row in rows)
