// @ts-check
/**
 * Colours of the page as a canvas needs them. They are CSS variables, which may be written in any way that CSS knows:
 * so the browser says what they are, by painting them.
 * @typedef {object} Palette
 * @property {Uint32Array} cells by kind, as pixels of an ImageData
 * @property {Uint32Array} dimmed the same for what is not looked at
 * @property {readonly string[]} signs by kind: black or white, whichever is read better on it
 * @property {number} ground
 * @property {{ ground: string, text: string, muted: string, line: string, band: string, ring: string }} css
 */
import { KINDS } from './grid.js';

const PLACES = {
  ground: '--page',
  text: '--text',
  muted: '--muted',
  line: '--line',
  band: '--raised',
  ring: '--focus',
};

/** The luminance on which black and white are read equally well. */
const EVENLY_READ = 0.179;

/** @param {HTMLElement} root where the variables hold @returns {Palette} */
export function readPalette(root) {
  const names = [...KINDS.map((kind) => kind.colour), ...Object.values(PLACES)];
  const probe = document.createElement('span');
  root.append(probe);
  const colours = names.map((name) => {
    probe.style.setProperty('color', `var(${name})`);
    return getComputedStyle(probe).color;
  });
  probe.remove();
  const ground = colours[KINDS.length] ?? 'white';
  const solid = pixelsOf(colours.map((colour) => [ground, colour]));
  const dimmed = pixelsOf(colours.slice(0, KINDS.length).map((colour) => [ground, colour, ground]));
  const cssOf = Object.fromEntries(
    Object.keys(PLACES).map((place, i) => [place, colours[KINDS.length + i] ?? 'grey']),
  );
  return {
    cells: solid.pixels.slice(0, KINDS.length),
    dimmed: dimmed.pixels,
    signs: KINDS.map((_, kind) => (luminance(solid.bytes, kind) > EVENLY_READ ? '#000' : '#fff')),
    ground: solid.pixels[KINDS.length] ?? 0,
    css: /** @type {Palette['css']} */ (cssOf),
  };
}

/**
 * Paints colours over each other, one pixel each; the third covers most of the second.
 * @param {readonly (readonly string[])[]} layers
 */
function pixelsOf(layers) {
  const canvas = document.createElement('canvas');
  canvas.width = layers.length;
  canvas.height = 1;
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext('2d', { willReadFrequently: true })
  );
  for (const [x, colours] of layers.entries())
    for (const [depth, colour] of colours.entries()) {
      context.globalAlpha = depth === 2 ? 0.82 : 1;
      context.fillStyle = colour;
      context.fillRect(x, 0, 1, 1);
    }
  const { data } = context.getImageData(0, 0, layers.length, 1);
  return { bytes: data, pixels: new Uint32Array(data.buffer) };
}

/** Relative luminance as in WCAG, roughly: 0 to 1. @param {Uint8ClampedArray} bytes @param {number} at */
function luminance(bytes, at) {
  const linear = [...bytes.subarray(at * 4, at * 4 + 3)].map((byte) => (byte / 255) ** 2.2);
  const [red = 0, green = 0, blue = 0] = linear;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * Signs on swatches are read as well as those in the map.
 * @param {HTMLElement} root @param {Palette} palette
 */
export function offerSigns(root, palette) {
  for (const [kind, { state }] of KINDS.entries())
    root.style.setProperty(`--cov-sign-${state}`, palette.signs[kind] ?? '');
}
