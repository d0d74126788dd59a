// Before the first paint: the theme that was chosen, so that a dark page never flashes white.
try {
  const theme = localStorage.getItem("vaultd.theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // storage is switched off: the system's theme it is
}
