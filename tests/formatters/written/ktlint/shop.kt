package shop
enum class Kind { OPEN, CLOSED; }
data class Line(val id: String, val price: Int)
class Basket(private val lines: List<Line>) {
    val size: Int get() = lines.size
    fun total(): Int = lines.sumOf { it.price }
    fun show(name: String) {
        println("$name has ${lines.size}")
    }
    fun first(): Line? {
        if (lines.isEmpty()) {
            return null
        } else {
            return lines.first()
        }
    }
}
fun limit(a: Int, b: Int = 2) = a * b
