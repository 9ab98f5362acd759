'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const element = (id) => document.getElementById(id);
const BLANK = 65535, STEPS = 65534;
// The largest number of lines that are drawn while no token is meant, and the weight below which they are left out.
const MOST_LINES = 4000, FAINTEST = 0.02;

// What the picture depends on. All but the pointer stands in the address, so that a link leads to it.
const state = { ...data.start, pointer: null, theme: data.theme, own: false, direction: 'given', order: 'arranged' };

const stackNow = () => data.stacks[state.stack];
const layerNow = () => stackNow().layers[state.layer];
const headNow = () => layerNow().heads[Math.min(state.head, layerNow().heads.length - 1)];
const rowsOf = (head) => data.axes[head.rows];
const colsOf = (head) => data.axes[head.cols];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Weights of a layer, unpacked once: per head a table of codes, of which BLANK is a pair that the model rules out or that is left out.
const unpacked = new Map();
function planes(stack, layer) {
  const key = stack + '-' + layer;
  if (!unpacked.has(key)) unpacked.set(key, unpack(stack, layer, key));
  return unpacked.get(key);
}
async function unpack(stack, layer, key) {
  const text = atob(element('plane-' + key).textContent.trim());
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let from = 0;
  return data.stacks[stack].layers[layer].heads.map((head) => {
    const n = rowsOf(head).names.length * colsOf(head).names.length;
    const codes = new Uint16Array(n);
    for (let at = 0; at < n; at++) codes[at] = bytes[from + at] | (bytes[from + n + at] << 8);
    from += 2 * n;
    return codes;
  });
}
const valueOf = (head, code) => head.low + (code / STEPS) * (head.high - head.low);
const ends = (head) => {
  const most = data.signed ? Math.max(Math.abs(head.low), Math.abs(head.high)) : head.high;
  const shared = state.own ? most : data.high ?? most;
  return [data.signed ? -shared : 0, shared || 1];
};
const numberText = (value) => (Math.abs(value) < 0.0005 && value !== 0 ? value.toExponential(1) : value.toFixed(3));

const tables = {};
function tableNow() {
  return (tables[state.theme] ??= Uint8Array.from(atob(data.palettes[state.theme].map), (c) => c.charCodeAt(0)));
}
function stepOf(head, code) {
  const [low, high] = ends(head);
  return Math.round(255 * Math.min(1, Math.max(0, (valueOf(head, code) - low) / (high - low))));
}

// A canvas of a size in CSS pixels, sharp on every screen.
function canvasOf(width, height, label) {
  const canvas = document.createElement('canvas');
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', label);
  const pen = canvas.getContext('2d');
  pen.scale(scale, scale);
  pen.font = '13px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  return [canvas, pen];
}
const cut = (text, n) => ([...text].length > n ? [...text].slice(0, n - 1).join('') + '…' : text);

// The pattern of a head as pixels, the largest of the cells that fall on a pixel.
function picture(head, codes, width, height) {
  const [rows, cols] = [rowsOf(head).names.length, colsOf(head).names.length];
  const [w, h] = [Math.min(width, cols), Math.min(height, rows)];
  const image = new ImageData(w, h);
  const table = tableNow();
  const blank = data.palettes[state.theme].blank;
  for (let y = 0; y < h; y++) {
    const [top, bottom] = [Math.floor((y * rows) / h), Math.max(Math.floor(((y + 1) * rows) / h), Math.floor((y * rows) / h) + 1)];
    for (let x = 0; x < w; x++) {
      const [left, right] = [Math.floor((x * cols) / w), Math.max(Math.floor(((x + 1) * cols) / w), Math.floor((x * cols) / w) + 1)];
      let found = BLANK, most = -1;
      for (let row = top; row < bottom; row++) {
        for (let col = left; col < right; col++) {
          const code = codes[row * cols + col];
          if (code === BLANK) continue;
          const size = Math.abs(valueOf(head, code));
          if (size > most) [most, found] = [size, code];
        }
      }
      const rgb = found === BLANK ? blank : table.subarray(3 * stepOf(head, found), 3 * stepOf(head, found) + 3);
      image.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * (y * w + x));
    }
  }
  const small = document.createElement('canvas');
  [small.width, small.height] = [w, h];
  small.getContext('2d').putImageData(image, 0, 0);
  return small;
}

// The strongest lines of a head, as many as a cell of this side has room for; those of the held query stand out.
function linesPicture(head, codes, side, scale) {
  const [rows, cols] = [rowsOf(head).names.length, colsOf(head).names.length];
  const [low, high] = ends(head), size = Math.max(-low, high) || 1;
  const small = document.createElement('canvas');
  small.width = small.height = Math.ceil(side * scale);
  const pen = small.getContext('2d');
  pen.scale(scale, scale);
  pen.fillStyle = colour('canvas');
  pen.fillRect(0, 0, side, side);
  const lines = [];
  for (let at = 0; at < rows * cols; at++) {
    if (codes[at] === BLANK) continue;
    const part = valueOf(head, codes[at]) / size;
    if (Math.abs(part) >= FAINTEST) lines.push([Math.abs(part), part, Math.floor(at / cols), at % cols]);
  }
  lines.sort((a, b) => a[0] - b[0]);
  const pitch = side / Math.max(rows, cols), widest = Math.max(0.4, 0.6 * pitch);
  for (const [weight, part, row, col] of lines.slice(-mostLines(side))) {
    const hex = data.signed ? colour(part < 0 ? 'minus' : 'plus') : headColour(head);
    const held = state.query === null || state.query === row;
    pen.strokeStyle = shade(hex, (0.15 + 0.85 * Math.sqrt(Math.min(1, weight))) * (held ? 1 : 0.22));
    pen.lineWidth = Math.min(0.75 + 2.25 * Math.min(1, weight), widest);
    pen.beginPath();
    pen.moveTo(0, pitch * (row + 0.5));
    pen.lineTo(side, pitch * (col + 0.5));
    pen.stroke();
  }
  return small;
}
const mostLines = (side) => Math.floor(Math.min(4000, Math.max(64, 4 * side)));

function say(head, row, col, code) {
  const value = code === BLANK ? 'not shown' : data.value + ' ' + numberText(valueOf(head, code));
  element('reading').textContent =
    nameOf(head) + ': ' + 'Query ' + rowsOf(head).names[row] + ' → ' + 'Key ' + colsOf(head).names[col] + ': ' + value;
}
function sayRow(head, codes, row) {
  const n = colsOf(head).names.length;
  const ranked = [...codes.subarray(row * n, (row + 1) * n).entries()].filter(([, code]) => code !== BLANK);
  ranked.sort((a, b) => Math.abs(valueOf(head, b[1])) - Math.abs(valueOf(head, a[1])));
  const top = ranked.slice(0, 3).map(([col, code]) => colsOf(head).names[col] + ' ' + numberText(valueOf(head, code)));
  element('reading').textContent = nameOf(head) + ': ' + 'Query ' + rowsOf(head).names[row] + ' → ' + top.join(' · ');
}
const nameOf = (head) => 'L' + layerNow().layer + 'H' + head.head;
function sayRest() {
  element('reading').textContent = state.query === null ? 'Point at a token to read its weights; click to hold it.' : '';
}

// The heads whose lines are drawn: the chosen one and those that were added.
const shown = () => [...new Set([state.head, ...state.also])].filter((at) => at < layerNow().heads.length).sort((a, b) => a - b);
function shade(hex, part) {
  const canvas = data.palettes[state.theme].ground;
  const full = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return 'rgb(' + full.map((c, at) => Math.round(canvas[at] + (c - canvas[at]) * part)).join(',') + ')';
}
const headColour = (head) => data.palettes[state.theme].heads[head.head % data.palettes[state.theme].heads.length];
const headDash = (head) => [[], [14, 5], [6, 4], [2, 3]][Math.floor(head.head / data.palettes[state.theme].heads.length) % 4];

async function drawLines(main) {
  const codes = await planes(state.stack, state.layer);
  const head = headNow();
  const [rows, cols] = [rowsOf(head).names, colsOf(head).names];
  const pitch = 22, name = Math.min(220, 40 + 8 * Math.max(...[...rows, ...cols].map((n) => Math.min(22, [...n].length))));
  const width = Math.min(720, Math.max(320, main.clientWidth || 720)), gap = Math.max(80, width - 2 * name);
  const height = pitch * Math.max(rows.length, cols.length) + 8;
  const [canvas, pen] = canvasOf(2 * name + gap, height, 'Lines from queries on the left to keys on the right');
  const y = (at) => 4 + pitch * (at + 0.5);
  const from = name + 4, to = name + gap - 4;
  const meant = () => state.pointer ?? (state.query === null ? null : { side: 'query', at: state.query });
  const draw = () => {
    pen.clearRect(0, 0, 2 * name + gap, height);
    const held = meant();
    let lines = [];
    for (const at of shown()) {
      const of = layerNow().heads[at], [low, high] = ends(of), size = Math.max(-low, high), n = cols.length;
      for (let row = 0; row < rows.length; row++) {
        for (let col = 0; col < n; col++) {
          if (held && (held.side === 'query' ? held.at !== row : held.at !== col)) continue;
          const code = codes[at][row * n + col];
          if (code === BLANK) continue;
          const part = valueOf(of, code) / size;
          if (Math.abs(part) >= (held ? 0.001 : FAINTEST)) lines.push([Math.abs(part), part, row, col, of]);
        }
      }
    }
    lines.sort((a, b) => a[0] - b[0]);
    const total = lines.length;
    if (lines.length > MOST_LINES) lines = lines.slice(-MOST_LINES);
    for (const [size, part, row, col, of] of lines) {
      const hex = data.signed ? colour(part < 0 ? 'minus' : 'plus') : headColour(of);
      pen.strokeStyle = shade(hex, 0.15 + 0.85 * Math.sqrt(Math.min(1, size)));
      pen.lineWidth = 0.75 + 2.25 * Math.min(1, size);
      pen.setLineDash(data.signed ? [] : headDash(of));
      pen.beginPath();
      pen.moveTo(from, y(row));
      pen.lineTo(to, y(col));
      pen.stroke();
    }
    pen.setLineDash([]);
    element('counted').textContent = lines.length + ' of ' + total + ' lines' + (held ? '' : ' from ' + FAINTEST + ' up');
    const strong = (side, at) => held && held.side === side && held.at === at;
    for (const [names, side, x, align, ink] of [[rows, 'query', name, 'right', 'query'], [cols, 'key', name + gap, 'left', 'key']]) {
      pen.textAlign = align;
      names.forEach((text, at) => {
        pen.fillStyle = strong(side, at) ? colour(ink) : colour('text');
        pen.font = (strong(side, at) ? '600 ' : '') + '13px system-ui, sans-serif';
        pen.fillText(cut(text, 26), x, y(at));
      });
    }
  };
  canvas.onmousemove = (event) => {
    const at = Math.floor((event.offsetY - 4) / pitch);
    const side = event.offsetX < name + gap / 2 ? 'query' : 'key';
    const n = side === 'query' ? rows.length : cols.length;
    state.pointer = at >= 0 && at < n ? { side, at } : null;
    draw();
    if (state.pointer?.side === 'query') sayRow(head, codes[layerNow().heads.indexOf(head)], at);
    else if (state.pointer) element('reading').textContent = nameOf(head) + ': ' + 'Key ' + cols[at] + ', from every query';
  };
  canvas.onmouseleave = () => { state.pointer = null; draw(); sayRest(); };
  canvas.onclick = () => {
    if (state.pointer?.side !== 'query') return;
    state.query = state.query === state.pointer.at ? null : state.pointer.at;
    keep();
    draw();
  };
  draw();
  return canvas;
}

async function drawHeatmap(main) {
  const codes = (await planes(state.stack, state.layer))[layerNow().heads.indexOf(headNow())];
  const head = headNow();
  const [rows, cols] = [rowsOf(head).names, colsOf(head).names];
  const room = Math.max(280, (main.clientWidth || 900) - 24), longest = Math.max(...[...rows, ...cols].map((n) => Math.min(18, [...n].length)));
  const name = 16 + 7.5 * longest;
  const cell = Math.max(2, Math.min(28, Math.floor(Math.min((room - name) / cols.length, 720 / rows.length))));
  const named = cell >= 11, edge = named ? name : 8;
  const [w, h] = [cell * cols.length, cell * rows.length];
  const [canvas, pen] = canvasOf(edge + w + 8, edge + h + 8, 'Weights as colours: rows are queries, columns keys');
  const small = picture(head, codes, cols.length, rows.length);
  const draw = () => {
    pen.clearRect(0, 0, edge + w + 8, edge + h + 8);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, edge, edge, w, h);
    if (named) {
      pen.fillStyle = colour('text');
      pen.font = Math.min(13, cell) + 'px system-ui, sans-serif';
      pen.textAlign = 'right';
      rows.forEach((text, at) => pen.fillText(cut(text, 18), edge - 4, edge + cell * (at + 0.5)));
      pen.textAlign = 'left';
      cols.forEach((text, at) => {
        pen.save();
        pen.translate(edge + cell * (at + 0.5), edge - 4);
        pen.rotate(-Math.PI / 2);
        pen.fillText(cut(text, 18), 0, 0);
        pen.restore();
      });
    }
    if (state.pointer) {
      pen.strokeStyle = colour('query');
      pen.strokeRect(edge, edge + cell * state.pointer.row, w, cell);
      pen.strokeStyle = colour('key');
      pen.strokeRect(edge + cell * state.pointer.col, edge, cell, h);
    }
  };
  canvas.onmousemove = (event) => {
    const [row, col] = [Math.floor((event.offsetY - edge) / cell), Math.floor((event.offsetX - edge) / cell)];
    const inside = row >= 0 && col >= 0 && row < rows.length && col < cols.length;
    state.pointer = inside ? { row, col } : null;
    draw();
    if (inside) say(head, row, col, codes[row * cols.length + col]);
    else sayRest();
  };
  canvas.onmouseleave = () => { state.pointer = null; draw(); sayRest(); };
  element('counted').textContent = rows.length + ' × ' + cols.length + ' weights';
  draw();
  return canvas;
}

// Cells of all heads: rows of layers, or as they were sorted and grouped when the page was written.
const arrangedNow = () => (data.arranged?.stack === state.stack && state.order === 'arranged' ? data.arranged : null);
function spotsNow() {
  const arranged = arrangedNow();
  if (!arranged) return stackNow().layers.flatMap((layer, row) => layer.heads.map((_, col) => ({ layer: row, at: col, row, col, title: '' })));
  const spot = (cell, nth) => cell && { layer: cell[0], at: cell[1], title: cell[2], row: Math.floor(nth / arranged.cols), col: nth % arranged.cols };
  return arranged.cells.map(spot).filter(Boolean);
}

async function drawGrid(main) {
  const layers = stackNow().layers, arranged = arrangedNow(), spots = spotsNow();
  const most = arranged?.cols ?? Math.max(...layers.map((layer) => layer.heads.length));
  const side = arranged ? 4 : 32, gap = 4, titled = arranged ? 18 : 0, headed = 26;
  const headings = arranged?.headings ?? [];
  const cell = Math.max(24, Math.min(120, Math.floor(((main.clientWidth || 900) - side - 16) / most) - gap));
  const above = (row) => headed * headings.filter(([first]) => first <= row).length;
  const x = (col) => side + col * (cell + gap), y = (row) => (arranged ? titled : 20) + row * (cell + gap + titled) + above(row);
  const rows = 1 + Math.max(0, ...spots.map((spot) => spot.row));
  const label = arranged ? 'Every head, ' + arranged.by : 'Every head: rows are layers, columns heads';
  const [canvas, pen] = canvasOf(side + most * (cell + gap), y(rows - 1) + cell + gap, label);
  const request = (drawGrid.request = (drawGrid.request ?? 0) + 1);
  const place = (spot) => {
    if (!spot?.picture) return;
    pen.imageSmoothingEnabled = false;
    pen.clearRect(x(spot.col) - 2, y(spot.row) - 2, cell + 4, cell + 4);
    pen.drawImage(spot.picture, x(spot.col), y(spot.row), cell, cell);
    const meant = spot.layer === state.layer && layers[spot.layer].heads[spot.at] === headNow();
    const under = state.pointer === spot;
    pen.strokeStyle = colour(meant ? 'accent' : under ? 'text' : 'rule');
    pen.lineWidth = meant || under ? 2 : 1;
    pen.strokeRect(x(spot.col) - 0.5, y(spot.row) - 0.5, cell + 1, cell + 1);
  };
  pen.fillStyle = colour('text-weak');
  if (arranged) {
    pen.textAlign = 'left';
    for (const spot of spots) pen.fillText(cut(spot.title, Math.floor(cell / 7)), x(spot.col), y(spot.row) - 9);
    pen.fillStyle = colour('text');
    for (const [row, text] of headings) pen.fillText(text, side, y(row) - titled - headed / 2 + 4);
  } else {
    pen.textAlign = 'center';
    for (let at = 0; at < most; at++) pen.fillText(String(at), x(at) + cell / 2, 10);
    pen.textAlign = 'right';
    layers.forEach((layer, at) => pen.fillText('L' + layer.layer, side - 6, y(at) + cell / 2));
  }
  (async () => {
    const ratio = window.devicePixelRatio || 1, scale = Math.ceil(cell * ratio);
    for (let layer = 0; layer < layers.length; layer++) {
      const codes = await planes(state.stack, layer);
      if (request !== drawGrid.request) return;
      for (const spot of spots.filter((spot) => spot.layer === layer)) {
        const head = layers[layer].heads[spot.at];
        spot.picture = state.cells === 'lines' ? linesPicture(head, codes[spot.at], cell, ratio) : picture(head, codes[spot.at], scale, scale);
        place(spot);
      }
    }
    canvas.dataset.ready = 'true';
  })();
  const isAt = (event) => (spot) => {
    const [right, down] = [event.offsetX - x(spot.col), event.offsetY - y(spot.row)];
    return right >= 0 && right < cell && down >= 0 && down < cell;
  };
  const under = (event) => spots.find(isAt(event)) ?? null;
  canvas.onmousemove = (event) => {
    const before = state.pointer;
    state.pointer = under(event);
    place(before);
    if (state.pointer) {
      place(state.pointer);
      const { layer, at } = state.pointer, head = layers[layer].heads[at];
      element('reading').textContent = 'L' + layers[layer].layer + 'H' + head.head + ': largest ' + numberText(head.high) + '; click to see it';
    } else sayRest();
  };
  canvas.onmouseleave = () => {
    const before = state.pointer;
    state.pointer = null;
    place(before);
    sayRest();
  };
  canvas.onclick = (event) => {
    const now = under(event);
    if (now) go({ view: state.cells === 'lines' ? 'lines' : 'heatmap', layer: now.layer, head: now.at, also: [] });
  };
  const room = state.cells === 'lines' ? ', each as its strongest lines from ' + FAINTEST + ' up, at most ' + mostLines(cell) : '';
  element('counted').textContent = spots.length + ' heads' + (arranged ? ' ' + arranged.by : '') + room;
  return canvas;
}

async function drawText() {
  const head = headNow();
  const codes = (await planes(state.stack, state.layer))[layerNow().heads.indexOf(head)];
  const [rows, cols] = [rowsOf(head), colsOf(head)];
  const n = cols.names.length, one = head.rows === head.cols;
  const box = document.createElement('div');
  const spans = { query: [], key: [] };
  const column = (axis, side, title) => {
    const text = document.createElement('div');
    text.className = 'text';
    if (!one) text.append(Object.assign(document.createElement('h2'), { textContent: title }));
    axis.texts.forEach((piece, at) => {
      const span = document.createElement('span');
      span.textContent = piece;
      span.className = axis.special.includes(at) ? 'token special' : 'token';
      span.onmouseenter = () => { state.pointer = { side, at }; paint(); };
      span.onmouseleave = () => { state.pointer = null; paint(); };
      span.onclick = () => { state.query = state.query === at ? null : at; keep(); paint(); };
      text.append(span);
      spans[side].push(span);
    });
    return text;
  };
  box.append(column(rows, 'query', 'Queries'));
  if (one) spans.key = spans.query;
  else box.append(column(cols, 'key', 'Keys'));
  const value = (row, col) => (codes[row * n + col] === BLANK ? 0 : valueOf(head, codes[row * n + col]));
  const tint = (span, part) => {
    const step = Math.round(255 * (data.signed ? Math.min(1, Math.max(0, 0.5 + part / 2)) : Math.min(1, Math.max(0, part))));
    const [r, g, b] = tableNow().subarray(3 * step, 3 * step + 3);
    span.style.background = part === 0 ? '' : 'rgb(' + [r, g, b] + ')';
    const bright = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    const light = 0.2126 * bright[0] + 0.7152 * bright[1] + 0.0722 * bright[2];
    span.style.color = part === 0 ? '' : light > 0.179 ? '#000' : '#fff';
  };
  const paint = () => {
    const held = state.pointer ?? (state.query === null ? null : { side: 'query', at: state.query });
    const received = held && (state.direction === 'received' || held.side === 'key');
    const list = received ? rows.names.map((_, row) => value(row, held.at)) : cols.names.map((_, col) => (held ? value(held.at, col) : rows.names.reduce((sum, _, row) => sum + value(row, col), 0) / rows.names.length));
    const most = Math.max(...list.map(Math.abs)) || 1;
    if (!one) [...spans.query, ...spans.key].forEach((span) => tint(span, 0));
    (received ? spans.query : spans.key).forEach((span, at) => tint(span, list[at] / most));
    [...spans.query, ...spans.key].forEach((span) => span.classList.remove('chosen'));
    if (held) spans[held.side][held.at]?.classList.add('chosen');
    const top = list.map((v, at) => [v, at]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3);
    const other = received ? rows : cols;
    const subject = held ? (held.side === 'query' ? rows : cols).names[held.at] + (received ? ' ← ' : ' → ') : 'Mean of all rows: ';
    element('reading').textContent = nameOf(head) + ': ' + subject + top.map(([v, at]) => other.names[at] + ' ' + numberText(v)).join(' · ');
    element('high').textContent = numberText(most);
  };
  box.repaint = paint;
  element('counted').textContent = rows.names.length + ' tokens; the strongest tint is the largest weight that is shown';
  setTimeout(paint);
  return box;
}

const drawers = { lines: drawLines, heatmap: drawHeatmap, grid: drawGrid, text: drawText };
let drawn = 0;
async function draw() {
  const request = ++drawn;
  const main = element('main');
  state.pointer = null;
  document.documentElement.dataset.theme = state.theme;
  element('theme').textContent = state.theme === 'dark' ? 'Light' : 'Dark';
  choosers();
  sayRest();
  const drawing = await drawers[state.view](main);
  if (request !== drawn) return;
  main.replaceChildren(drawing);
  ramp();
  document.body.dataset.ready = state.view;
}
function ramp() {
  const pen = element('ramp').getContext('2d'), image = pen.createImageData(256, 1), table = tableNow();
  for (let at = 0; at < 256; at++) image.data.set([...table.subarray(3 * at, 3 * at + 3), 255], 4 * at);
  pen.putImageData(image, 0, 0);
  // Lines say their weight by width and strength in the colour of their head.
  element('scale').classList.toggle('of-lines', state.view === 'lines' || (state.view === 'grid' && state.cells === 'lines'));
  if (state.view === 'text') return;
  const [low, high] = ends(headNow());
  element('low').textContent = data.value + ' ' + numberText(low);
  element('high').textContent = numberText(high);
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map((text, at) => new Option(text, at, false, at === chosen)));
  select.parentElement.hidden = options.length < 2;
}
function choosers() {
  for (const tab of element('views').children) tab.setAttribute('aria-selected', String(tab.dataset.view === state.view));
  fill(element('stack'), data.stacks.map((stack) => stack.title), state.stack);
  fill(element('layer'), stackNow().layers.map((layer) => layer.layer), state.layer);
  element('layer').parentElement.hidden ||= state.view === 'grid';
  element('heads').hidden = state.view === 'grid';
  const hasColours = state.view === 'heatmap' || (state.view === 'grid' && state.cells === 'heatmap');
  document.querySelector('.of-colours').hidden = !hasColours || data.high === null;
  document.querySelector('.of-grid').hidden = state.view !== 'grid';
  element('cells').value = state.cells;
  element('order').value = state.order;
  element('order').parentElement.hidden = state.view !== 'grid' || data.arranged?.stack !== state.stack;
  document.querySelector('.of-text').hidden = state.view !== 'text';
  const lines = state.view === 'lines', on = lines ? shown() : [state.head];
  element('heads').replaceChildren(...layerNow().heads.map((head, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.head;
    button.title = lines ? 'Head ' + head.head + '; Shift or Ctrl adds it to the others' : 'Head ' + head.head;
    button.setAttribute('aria-pressed', String(on.includes(at)));
    if (lines) button.style.borderBottomColor = headColour(head);
    button.onclick = (event) => {
      if (!(lines && (event.shiftKey || event.ctrlKey || event.metaKey))) return go({ head: at, also: [] });
      if (!on.includes(at)) return go({ also: [...on, at] });
      if (on.length > 1) go({ head: on.find((other) => other !== at), also: on.filter((other) => other !== at) });
    };
    return button;
  }));
}

function keep() {
  const query = state.query === null ? '' : '/q' + state.query;
  history.replaceState(null, '', '#' + [state.view, state.stack, state.layer, state.head].join('/') + query);
}
function go(change) {
  Object.assign(state, change);
  state.stack = Math.min(state.stack, data.stacks.length - 1);
  state.layer = Math.min(state.layer, stackNow().layers.length - 1);
  state.head = Math.min(state.head, layerNow().heads.length - 1);
  if (state.query !== null && state.query >= rowsOf(headNow()).names.length) state.query = null;
  keep();
  draw();
}
function read() {
  const [view, stack, layer, head, query] = location.hash.slice(1).split('/');
  if (!drawers[view]) return;
  const number = (text) => Math.max(0, parseInt(text, 10) || 0);
  Object.assign(state, { view, stack: number(stack), layer: number(layer), head: number(head), query: query?.startsWith('q') ? number(query.slice(1)) : null });
}

element('title').textContent = data.title;
element('caption').textContent = data.caption;
element('provenance').textContent = JSON.stringify(data.provenance, null, 1);
element('views').replaceChildren(...data.views.map(({ name, label }) => {
  const tab = Object.assign(document.createElement('button'), { type: 'button', textContent: label });
  tab.dataset.view = name;
  tab.setAttribute('role', 'tab');
  tab.onclick = () => go({ view: name });
  return tab;
}));
element('stack').onchange = (event) => go({ stack: Number(event.target.value), layer: 0, head: 0, also: [], query: null });
element('layer').onchange = (event) => go({ layer: Number(event.target.value) });
element('order').onchange = (event) => go({ order: event.target.value });
element('cells').onchange = (event) => go({ cells: event.target.value });
element('own').onchange = (event) => go({ own: event.target.checked });
element('direction').onchange = (event) => { state.direction = event.target.value; element('main').firstChild?.repaint?.(); };
element('theme').onclick = () => go({ theme: state.theme === 'dark' ? 'light' : 'dark' });
window.onresize = () => draw();
window.onhashchange = () => { read(); go({}); };
document.onkeydown = (event) => {
  if (event.target.tagName === 'SELECT' || event.ctrlKey || event.metaKey || event.altKey) return;
  const [layers, heads] = [stackNow().layers.length, layerNow().heads.length];
  const moves = {
    ArrowLeft: { head: Math.max(0, state.head - 1), also: [] }, ArrowRight: { head: Math.min(heads - 1, state.head + 1), also: [] },
    ArrowUp: { layer: Math.max(0, state.layer - 1) }, ArrowDown: { layer: Math.min(layers - 1, state.layer + 1) },
    Escape: { query: null },
  };
  const move = moves[event.key] ?? (data.views[event.key - 1] && { view: data.views[event.key - 1].name });
  if (!move) return;
  event.preventDefault();
  go(move);
};
read();
go({});
