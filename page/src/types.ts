// The contract with labelwise/report: what the meta element holds.

export type Codes = Uint8Array | Uint16Array | Uint32Array;
export type Part = "total" | "aleatoric" | "epistemic";
export type Row = number;

export interface ColumnMeta {
  name: string;
  title: string;
  kind: "category" | "number" | "text";
  /** Of what is stored. */
  dtype?: string;
  /** "metadata" where it is known of the cases from elsewhere. */
  source?: string;
  /** Of ids: they are the numbers of the cases. */
  numbered?: boolean;
  names?: string[] | "classes";
  edges?: number[];
  centers?: number[];
}

export interface BlockMeta {
  dtype: string;
  shape: number[];
  /** The numbers are the differences from one to the next. */
  steps?: boolean;
  values?: number[];
  edges?: number[];
}

export interface EventMeta {
  inside: number[];
  rest: number[] | null;
}

export interface Interval {
  value: number;
  low: number;
  high: number;
}

export interface CostsMeta {
  missed: number[];
  alarm: number[];
  abstain: number | null;
  ask: number | null;
  error: number;
}

export interface Exact {
  /** By score. */
  mean: Record<string, number>;
  accuracy: (Interval & { method: string }) | null;
  calibration: string | null;
  members: { log_loss: number | null; distance: number; cases: number }[];
  check: { ok: boolean; sentence: string; members: number[] } | null;
  sources: string | null;
  /** By data set, then by score. */
  detection: Record<string, Record<string, Interval>>;
  sets: string | null;
}

export interface Meta {
  title: string;
  version: string;
  n: number;
  rows: number;
  multilabel: boolean;
  labelled: boolean;
  class_names: string[];
  labels: string[];
  events: EventMeta[] | null;
  /** How the events relate. */
  structure: "partition" | "disjoint" | "overlapping" | "nested" | "pairs";
  /** None where a continuous distribution is represented by draws. */
  members: string[];
  losses: string[];
  columns: ColumnMeta[];
  blocks: Record<string, BlockMeta>;
  exact: Exact;
  costs: CostsMeta | null;
  id_note: string | null;
  images: { count: number; of: number } | null;
  notes: string[];
}

/** One value for each row: a code, and what the codes mean. */
export interface Column {
  name: string;
  title: string;
  kind: "category" | "number" | "flag";
  codes: Codes;
  missing: number;
  names: string[];
  edges: Float64Array;
  centers: Float64Array;
}
