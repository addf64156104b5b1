def first(row): return row[:1]


def by_name(rows, reverse=False):
    def key(row): return row['name'].lower()
    return sorted(rows, key=key, reverse=reverse)


class Ledger:
    def sign(self, kind): return -1 if kind == 'debit' else 1

    def total(self, rows):
        return sum(self.sign(row['kind'])*row['amount'] for row in rows)
