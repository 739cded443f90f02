(() => { // comfort only: the page is whole without it
const d = document, $ = (s, r = d) => [...r.querySelectorAll(s)], on = addEventListener;
const el = (tag, set, ...kids) => { const e = Object.assign(d.createElement(tag), set); e.append(...kids); return e };
d.documentElement.classList.add('js');

// hover and focus: <title> becomes the tooltip; rows and marks of one data-k light up together
const tip = el('div', { id: 'tip', hidden: true, role: 'tooltip' });
d.body.append(tip);
for (const t of $('svg title')) {
  const m = t.closest('a') || t.parentNode;
  m.dataset.tip = t.textContent;
  if (m.href) m.ariaLabel = t.textContent;
  t.remove();
}
let now, key, tapped;
const light = f => key && $(`[data-k=${key}]`).forEach(n => n.classList[f]('hi'));
const hide = () => { light('remove'); now = key = 0; tip.hidden = true };
const show = (e, x, y) => {
  const near = s => e.target.closest?.(s), m = near('[data-tip],[data-k]');
  if (!m) return hide();
  if (m != now) {
    hide(); now = m; key = near('[data-k]')?.dataset.k; light('add');
    tip.textContent = m.dataset.tip; tip.hidden = !m.dataset.tip;
  }
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.transform = `translate(${Math.max(6, Math.min(x + 14, innerWidth - w - 6))}px,${y < h + 16 ? y + 16 : y - h - 12}px)`;
};
on('pointermove', e => show(e, e.clientX, e.clientY));
on('focusin', e => { const r = ($('.d', e.target)[0] || e.target).getBoundingClientRect(); show(e, r.right, r.top) });
on('focusout', hide); on('scroll', hide); on('keydown', e => e.key == 'Escape' && hide());
on('click', e => { // the first tap shows, the second follows the link
  const m = e.target.closest('svg a');
  if (e.pointerType == 'touch' && m && m != tapped) { e.preventDefault(); tapped = m }
});

// a link into a closed fold opens it
const open = () => {
  const t = d.getElementById(location.hash.slice(1)), fold = t?.closest('details:not([open])');
  if (fold) { fold.open = true; t.scrollIntoView() }
};
on('hashchange', open); open();

// sort by data-v or text; empty cells stay last
for (const th of $('.sort thead tr:last-child th')) {
  const b = el('button', { type: 'button', ariaLabel: th.textContent.trim() ? null : 'Sort by status' }, ...th.childNodes);
  th.append(b);
  b.onclick = () => {
    const body = th.closest('table').tBodies[0], up = th.ariaSort == 'ascending' ? -1 : 1, of = r => { const c = r.cells[th.cellIndex]; return c.dataset.v ?? c.innerText.trim() };
    $('th', th.parentNode).forEach(o => o.ariaSort = null);
    th.ariaSort = up > 0 ? 'ascending' : 'descending';
    body.append(...[...body.rows].sort((p, q) => { const a = of(p), c = of(q); return !a - !c || up * (isNaN(a) || isNaN(c) ? a.localeCompare(c, 'en', { numeric: true }) : a - c) }));
  };
}

// filter: every word must occur in the row
for (const t of $('.filter')) {
  const count = el('span', { className: 'soft', role: 'status' }), find = el('input', { className: 'find', type: 'search', placeholder: 'Filter rows', ariaLabel: 'Filter ' + t.caption.textContent });
  find.oninput = () => {
    const rows = [...t.tBodies[0].rows], words = find.value.toLowerCase().split(/\s+/);
    rows.forEach(r => r.hidden = words.some(w => !r.textContent.toLowerCase().includes(w)));
    count.textContent = find.value && `${rows.filter(r => !r.hidden).length} of ${rows.length} `;
  };
  let head = $('.head', t.closest('details,.card'))[0];
  if (!head) t.closest('.scroll').before(head = el('div', { className: 'head' }));
  head.append(el('span', {}, count, find));
}

// copy: tables as Markdown (as shown) or CSV (values and bounds), cards as PNG in light colours
const text = c => c.innerText.trim().replace(/\s+/g, ' '), rows = t => [...t.rows].filter(r => !r.hidden).map(r => [...r.cells]);
const md = t => rows(t).map((r, n) => `| ${r.map(text).join(' | ')} |` + (n ? '' : '\n|' + '---|'.repeat(r.length))).join('\n');
const csv = t => {
  const all = rows(t), wide = i => all.some(r => r[i]?.dataset.lo);
  return all.map((r, n) => r.flatMap((c, i) => {
    const v = c.dataset, s = v.v ?? text(c);
    return wide(i) ? [s, n ? v.lo ?? '' : s + ' low', n ? v.hi ?? '' : s + ' high'] : s;
  }).map(s => /[",]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s).join()).join('\n');
};
const png = async card => {
  $('input', card).forEach(i => i.toggleAttribute('checked', i.checked));
  const copy = card.cloneNode(true), { width, height } = card.getBoundingClientRect(), xml = n => new XMLSerializer().serializeToString(n);
  $('.tools,.find,details:not([open])', copy).forEach(n => n.remove());
  copy.append(el('p', { className: 'note', textContent: d.title }));
  const img = new Image;
  img.src = 'data:image/svg+xml,' + encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" style="color-scheme:light" width="${width}" height="${height}"><foreignObject width="100%" height="100%"><div xmlns="http://www.w3.org/1999/xhtml" class="export">${[$('style')[0], d.getElementById('defs'), copy].map(xml).join('')}</div></foreignObject></svg>`);
  await img.decode();
  const canvas = el('canvas', { width: 2 * width, height: 2 * height }), pen = canvas.getContext('2d');
  pen.scale(2, 2); pen.drawImage(img, 0, 0);
  return new Promise(f => canvas.toBlob(f));
};
const button = (label, name, make) => {
  const b = el('button', { type: 'button', textContent: label, className: 'copy' });
  b.onclick = async () => {
    const s = await make(), blob = s.type ? s : new Blob([s], { type: 'text/plain' });
    try { await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]) }
    catch { el('a', { href: URL.createObjectURL(blob), download: name }).click() }
    b.textContent = 'copied'; setTimeout(() => b.textContent = label, 1200);
  };
  return b;
};
for (const c of $('.card[data-tools]')) {
  const t = () => $('table', c).find(t => t.offsetParent) || $('table', c)[0], tools = el('div', { className: 'tools', role: 'group', ariaLabel: 'Copy as' }, 'Copy');
  if (t()) tools.append(button('Markdown', c.id + '.md', () => md(t())), button('CSV', c.id + '.csv', () => csv(t())));
  if (!$('.big', c)[0]) tools.append(button('PNG', c.id + '.png', () => png(c)));
  c.append(tools);
}
for (const c of $('.cmd')) c.append(button('copy', 'copy.txt', () => c.firstElementChild.textContent));
})();
