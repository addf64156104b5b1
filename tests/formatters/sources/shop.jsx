const RATES = { 'standard': 0.20, "reduced": .05, 'per-unit': 1E+3 }
export const label = name => 'Order "' + name + '"'
export const pick = async order => order && (order.lines && order.lines[0])
export function Price({ order }) {
  const text = 'it\'s', odd = (order?.total).amount
  return <p className=' price  big ' title={"total"}>Total: {' '}
    <b>{ text }</b> for {order.name} &amp; all
    its lines</p>
}
class Basket extends Map {
  'total' = new Date
  add = line => { this.set(line.id, line); return (line) };
  async each(visit) { for (const [, line] of this) await visit((line)), 1; return /a+/ig }
}
module.exports = { Basket, 'limits': { 1: "one", 'two': 2 } };
