export const box = css`
  color:RED;
    background : #FFF;margin: .50em
`;

export const orders = gql`
  query   Orders { order(id:1) { total, lines } }
`;

export const whole = /* GraphQL */ `query Whole { order { total } }`;

export const title = html`<div   class='a'><p>${name}</p><br>
</div>`;

@Component({ selector: "shop-cart", template: `<b   class='a'>{{total}}</b>` })
export class Cart {}

export const plain = `a  ${name}
  b`;
