/** The files of a dbt project as `views --for dbt` prints them, by their paths in it. */
export function filesOfDbt(printed: string): Map<string, string> {
  const parts = printed.split(/^(?:#|--) --- (\S+)\n/m).slice(1);
  return new Map(parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1]!]] : [])));
}
