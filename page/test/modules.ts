export * as csv from "../src/csv";
export * as format from "../src/format";
export * as hash from "../src/hash";
export * as intervals from "../src/intervals";
export * as measures from "../src/measures";
export * as npy from "../src/npy";
export * as order from "../src/order";
export * as selection from "../src/selection";
