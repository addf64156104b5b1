export type Kind = "open" | ("closed" | "void");
export interface Line {
	id: string;
	"unit-price": number;
	note?: string;
}
export enum Size {
	small = 1,
	large = 2,
}
export const total = (lines: Line[]) =>
	lines.reduce((sum, line) => sum + line["unit-price"], 0);
export const first = async <T>(all: Promise<T[]>) => (await all)[0] as T;
export abstract class Store<K extends string> {
	private readonly rows = new Map<K, Line>();
	constructor(protected name: string) {
		if (!name) throw new Error("no name");
	}
	get size() {
		return this.rows.size;
	}
	find(id: K): Line | undefined {
		return this.rows.get(id) ?? undefined;
	}
}
declare function later(x: number): void;
