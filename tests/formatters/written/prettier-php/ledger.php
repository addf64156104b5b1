<?php

const LEDGER_MASK = 0xff;

function describe(array $row): string
{
    $rate = 1.5;
    return "Row '{$row["name"]}' of {$row["list"]["title"]}: " .
        ($row["amount"] & 0xff) * $rate;
}
