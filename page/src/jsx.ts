// What JSX becomes: calls of h. A function is a component that is rendered again when its properties
// or a signal that it has read change.

import { effect } from "@preact/signals-core";
import {
  Component,
  type ComponentClass,
  Fragment,
  type FunctionComponent,
  createElement,
} from "preact";

type Props = Record<string, unknown>;
const watched = new Map<unknown, ComponentClass<Props>>();

function watch(view: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    stop = () => {};

    render(): ReturnType<typeof view> {
      let found: ReturnType<typeof view> = null;
      let drawn = false;
      this.stop();
      this.stop = effect(() => {
        if (drawn) this.setState({});
        else found = view(this.props);
        drawn = true;
      });
      return found;
    }

    shouldComponentUpdate(next: Props, state: unknown): boolean {
      const names = Object.keys({ ...this.props, ...next });
      return state !== this.state || names.some((name) => next[name] !== this.props[name]);
    }

    componentWillUnmount(): void {
      this.stop();
    }
  };
}

export function h(type: string | FunctionComponent<Props>, ...rest: unknown[]): unknown {
  const create = createElement as (...parts: unknown[]) => unknown;
  if (typeof type === "string" || type === Fragment) return create(type, ...rest);
  let component = watched.get(type);
  if (component === undefined) watched.set(type, (component = watch(type)));
  return create(component, ...rest);
}

export { Fragment };
