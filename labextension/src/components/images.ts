/** Images pasted, dropped or chosen: only kinds the models read, made small enough before they are sent. */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IAttachment } from '../protocol';

const KINDS = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Longest edge in pixels and size in bytes that models take without scaling (DESIGN section 4). */
const LONGEST_EDGE = 1568;
const LARGEST = 1_000_000;

export async function readImages(
  files: readonly File[],
  trans: TranslationBundle
): Promise<{ images: IAttachment[]; problem: string }> {
  const images: IAttachment[] = [];
  let problem = '';
  for (const file of files) {
    if (!KINDS.includes(file.type)) {
      problem = trans.__('%1 is not an image that models read (PNG, JPEG, GIF, WebP). Mention a file with @ instead.', file.name);
      continue;
    }
    try {
      const [mediaType, data] = await encode(file);
      images.push({ type: 'image', kind: 'image', name: file.name || trans.__('Image'), media_type: mediaType, data });
    } catch {
      problem = trans.__('%1 could not be read as an image.', file.name);
    }
  }
  return { images, problem };
}

async function encode(file: File): Promise<[string, string]> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST_EDGE / Math.max(bitmap.width, bitmap.height));
  if (scale === 1 && file.size <= LARGEST) {
    return [file.type, await base64(file)];
  }
  const canvas = document.createElement('canvas');
  for (let factor = scale; ; factor *= 0.7) {
    canvas.width = Math.max(1, Math.round(bitmap.width * factor));
    canvas.height = Math.max(1, Math.round(bitmap.height * factor));
    canvas.getContext('2d')!.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const kind = file.type === 'image/jpeg' ? 'image/jpeg' : 'image/png';
    const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, kind, 0.85));
    if (blob && (blob.size <= LARGEST || canvas.width < 64)) {
      return [kind, await base64(blob)];
    }
  }
}

async function base64(blob: Blob): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(',') + 1);
}
