// The frame of a line chart: both axes go from 0 to 1.

import type { ComponentChildren } from "preact";

const [WIDTH, HEIGHT] = [520, 240];
const [LEFT, BOTTOM, TOP, RIGHT] = [52, 44, 10, 14];

/** Where a share of an axis is. */
export const FRAME = {
  x: (u: number) => LEFT + u * (WIDTH - LEFT - RIGHT),
  y: (v: number) => TOP + (1 - v) * (HEIGHT - TOP - BOTTOM),
};

interface ChartProps {
  name: string;
  label: string;
  /** Of the horizontal axis. */
  title: string;
  /** The text of a tick at a share of the axis. */
  across: (u: number) => string;
  up: (v: number) => string;
  children: ComponentChildren;
}

export function Chart({ name, label, title, across, up, children }: ChartProps) {
  const { x, y } = FRAME;
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
      data-export={name}
    >
      {[0, 0.5, 1].map((v) => (
        <g key={v}>
          <line class="gridline" x1={x(0)} x2={x(1)} y1={y(v)} y2={y(v)} />
          <text class="tick" x={x(0) - 6} y={y(v) + 4} text-anchor="end">
            {up(v)}
          </text>
        </g>
      ))}
      {[0, 0.25, 0.5, 0.75, 1].map((u) => (
        <text key={u} class="tick" x={x(u)} y={y(0) + 18} text-anchor="middle">
          {across(u)}
        </text>
      ))}
      <text class="tick" x={x(0.5)} y={HEIGHT - 5} text-anchor="middle">
        {title} →
      </text>
      {children}
    </svg>
  );
}
