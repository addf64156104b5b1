<?php

namespace Shop;

const LIMIT = 3;
class Basket
{
    private $lines = array("a", 'b', "it's");
    public function total($lines, $name = "none")
    {
        $sum = 0;
        foreach ($lines as $line) {
            $sum += ($line["price"]);
        }
        if ($sum > LIMIT) {
            throw new \Exception("too much: $sum");
        }
        $date = new \DateTime();
        return preg_match('/\s+/', $name) ? $sum : function ($x) {
            return $x;
        };
    }
    function page()
    {
        return <<<HTML
    <p>
      one
    </p>
    HTML;
    }
}
function limit($a, $b = 2)
{
    return $a * $b;
}
