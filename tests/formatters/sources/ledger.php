<?php

const LEDGER_MASK = 0xFF;

function describe(array $row): string
{
    $rate = 1.50;
    return "Row '{$row['name']}' of {$row['list']['title']}: " . ($row['amount'] & 0xFF) * $rate;
}
