/** Uses what it is told: `burn.ts CPU_MS MEMORY_MB`. Prints one JSON line `{"cpuMs"}`, what it says of itself. */
const [cpuMs = 0, memoryMb = 0] = process.argv.slice(2).map(Number);
const held = Buffer.alloc(memoryMb * 1_000_000, 1);
const usedMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const startedMs = usedMs();
while (usedMs() - startedMs < cpuMs);
process.stdout.write(`${JSON.stringify({ cpuMs: usedMs(), held: held.length })}\n`);
