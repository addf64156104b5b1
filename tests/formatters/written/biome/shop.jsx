const RATES = { standard: 0.2, reduced: 0.05, "per-unit": 1e3 };
export const label = (name) => 'Order "' + name + '"';
export const pick = async (order) => order && order.lines && order.lines[0];
export function Price({ order }) {
	const text = "it's",
		odd = (order?.total).amount;
	return (
		<p className=" price  big " title={"total"}>
			Total: <b>{text}</b> for {order.name} &amp; all its lines
		</p>
	);
}
class Basket extends Map {
	total = new Date();
	add = (line) => {
		this.set(line.id, line);
		return line;
	};
	async each(visit) {
		for (const [, line] of this) await visit(line), 1;
		return /a+/gi;
	}
}
module.exports = { Basket, limits: { 1: "one", two: 2 } };
