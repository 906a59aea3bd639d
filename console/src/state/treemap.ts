/** Squarified treemap, after Bruls, Huizing and van Wijk. */

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Divides a rectangle into parts in proportion to their sizes, which are above 0 and sorted from large to small. */
export function layout(sizes: number[], area: Rect): Rect[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= 0 || area.width <= 0 || area.height <= 0) return sizes.map(() => ({ ...area, width: 0, height: 0 }));
  const scale = (area.width * area.height) / total;
  const rects: Rect[] = [];
  let free = { ...area };
  let row: number[] = [];
  const place = () => {
    const sum = row.reduce((all, size) => all + size, 0);
    const isWide = free.width >= free.height;
    const side = isWide ? free.height : free.width;
    const depth = side > 0 ? sum / side : 0;
    let position = isWide ? free.y : free.x;
    for (const size of row) {
      const length = depth > 0 ? size / depth : 0;
      rects.push(
        isWide
          ? { x: free.x, y: position, width: depth, height: length }
          : { x: position, y: free.y, width: length, height: depth },
      );
      position += length;
    }
    free = isWide
      ? { ...free, x: free.x + depth, width: free.width - depth }
      : { ...free, y: free.y + depth, height: free.height - depth };
    row = [];
  };
  for (const size of sizes.map((it) => it * scale)) {
    const side = Math.min(free.width, free.height);
    if (row.length > 0 && worst([...row, size], side) > worst(row, side)) place();
    row.push(size);
  }
  if (row.length > 0) place();
  return rects;
}

/** Returns the largest ratio of the sides of a row's parts. */
function worst(row: number[], side: number): number {
  const sum = row.reduce((all, size) => all + size, 0);
  const largest = Math.max(...row);
  const smallest = Math.min(...row);
  return Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
}
