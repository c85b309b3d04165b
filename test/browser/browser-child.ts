/** A process that has opened a page, says so, and waits for its end. */
import { sharedBrowser } from '../helpers/shared-browser.ts';

const browser = await sharedBrowser(process.argv[2]!);
await browser.newPage();
process.stdout.write('opened\n');
setInterval(() => {}, 60_000);
