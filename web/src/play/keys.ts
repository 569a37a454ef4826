// The secrets that let a page come back to its seats: per tab, and for a tab that was closed.

const NAME = "seats";
const MOST = 20;

export function keepToken(code: string, token: string): void {
  sessionStorage.setItem(`seat ${code}`, token);
  const kept = Object.entries(stored()).filter(([each]) => each !== code);
  localStorage.setItem(
    NAME,
    JSON.stringify(Object.fromEntries([...kept, [code, token]].slice(-MOST))),
  );
}

export function tokenOf(code: string): string | null {
  return sessionStorage.getItem(`seat ${code}`) ?? stored()[code] ?? null;
}

function stored(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}
