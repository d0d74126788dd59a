export default function page(main) {
  return {};
}
