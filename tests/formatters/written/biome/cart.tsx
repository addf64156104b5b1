import React from "react";
export const Row = (props: { name: string }) => (
	<li
		key="a"
		className="row"
		onClick={(x) => {
			props;
		}}
	>
		{props.name} <i>ordered</i>
		and paid
	</li>
);
export function List({ rows }: { rows: string[] }) {
	return rows.length ? (
		<ul>
			{rows.map((r) => (
				<Row name={r} key={r} />
			))}
		</ul>
	) : (
		<p>none</p>
	);
}
