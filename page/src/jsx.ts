// What JSX becomes: calls of h, which are shorter than those of the automatic runtime.
export { Fragment, h } from "preact";
