// The contract with labelwise/report: what the meta element holds.

export type Codes = Uint8Array | Uint16Array | Uint32Array;
export type Part = "total" | "aleatoric" | "epistemic";
export type Row = number;

export interface ColumnMeta {
  name: string;
  title: string;
  kind: "category" | "number" | "flag" | "text" | "bits" | "weight";
  dtype: string;
  source?: string;
  note?: string | null;
  names?: string[] | "classes" | "members";
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

export interface LossMeta {
  key: string;
  name: string;
  unit: string;
  maximum_of_sum: number | null;
}

export interface Interval {
  value: number;
  low: number | null;
  high: number | null;
}

export interface MemberSummary {
  name: string;
  accuracy?: number | null;
  log_loss?: number | null;
  brier?: number | null;
  distance?: number | null;
  agree?: number | null;
}

export interface CostsMeta {
  task?: string;
  tables?: Record<string, { missed: number[]; alarm: number[] }>;
  missed?: number[];
  alarm?: number[];
  abstain: number | null;
  ask: number | null;
  error: number;
}

export interface Exact {
  accuracy?: (Interval & { how?: string }) | null;
  exact_match?: Interval | number | null;
  mean: Record<string, Record<Part, number>>;
  epistemic_share?: number | null;
  pairs?: [number, number, number][];
  members?: MemberSummary[] | null;
  calibration?: (Interval & { sentence?: string; ece?: number | null }) | null;
  check?: { ok: boolean; sentence: string; members?: number[] } | null;
  sources?: { sentence?: string; names: string[]; means: number[]; p: (number | null)[] } | null;
  detection?: { name: string; n: number; auroc: Record<string, Interval> }[];
  sets?: { sentence?: string } | null;
}

export interface Meta {
  schema: number;
  title: string;
  version: string;
  n: number;
  rows: number;
  sampled: boolean;
  multilabel: boolean;
  labelled: boolean;
  class_names: string[];
  labels: string[];
  events: EventMeta[] | null;
  partition: boolean;
  second_order: "members" | "draws" | "none";
  members: { n: number; names: string[]; weights: number[] | null } | null;
  losses: LossMeta[];
  columns: ColumnMeta[];
  blocks: Record<string, BlockMeta>;
  exact: Exact;
  costs: CostsMeta | null;
  ids: boolean;
  id_note: string | null;
  images: { count: number; of: number; type: string } | null;
  metadata: string[];
  notes?: string[];
  averaged?: boolean;
  fewest: number;
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
  source: string;
  note: string;
}
