/** Everything the plugin says, in English and Chinese; Obsidian's own language decides. */

export interface Texts {
  ok: string;
  okMore: (notes: number) => string;
  indexing: (done: number, total: number) => string;
  indexingMore: string;
  offline: string;
  noDaemon: string;
  noVault: string;
  wrongToken: string;
  conflicts: (count: number) => string;
  conflictsMore: string;
  pin: string;
  resolve: string;
  restore: string;
  similar: string;
  search: string;
  dashboard: string;
  pinned: (name: string) => string;
  unpinned: (name: string) => string;
  resolved: (name: string) => string;
  unresolved: (name: string) => string;
  restored: (name: string) => string;
  unknownNote: string;
  otherVault: string;
  failed: (why: string) => string;
  searchHint: string;
  nothingFound: string;
  noNote: string;
  nothingAlike: string;
  port: string;
  portAbout: string;
  portWrong: string;
  token: string;
  tokenAbout: string;
  live: string;
  liveAbout: string;
}

const english: Texts = {
  ok: "Memory ok",
  okMore: (notes) => `${notes} notes are indexed. Select to open the dashboard.`,
  indexing: (done, total) => `Indexing ${done} of ${total}`,
  indexingMore: "Reading notes. Search works meanwhile, on what has been read.",
  offline: "Memory offline",
  noDaemon: "No daemon answers at this port. Start it with: vaultd serve",
  noVault: "The daemon cannot reach its vault.",
  wrongToken: "The daemon does not accept the token. Choose it in the settings; the command vaultd token shows it.",
  conflicts: (count) => `${count} ${count === 1 ? "note needs" : "notes need"} you`,
  conflictsMore: "Some notes cannot be read, or have conflict copies. The dashboard lists them.",
  pin: "Pin or unpin this memory",
  resolve: "Resolve or reopen this memory",
  restore: "Restore this memory from the archive",
  similar: "Show memories like this one",
  search: "Search memories",
  dashboard: "Open dashboard",
  pinned: (name) => `Pinned: ${name}`,
  unpinned: (name) => `No longer pinned: ${name}`,
  resolved: (name) => `Resolved: ${name}`,
  unresolved: (name) => `Open again: ${name}`,
  restored: (name) => `Restored: ${name}`,
  unknownNote: "This note is not indexed yet, or is not a memory.",
  otherVault: "Not done: the daemon knows another note at this path. Does it serve another vault?",
  failed: (why) => `Not done: ${why}`,
  searchHint: "Words or a question",
  nothingFound: "No memory found.",
  noNote: "Open a note to see memories like it.",
  nothingAlike: "No memory is like this one.",
  port: "Port",
  portAbout: "The port on which the daemon listens on this computer.",
  portWrong: "Enter a whole number from 1 to 65535.",
  token: "Token",
  tokenAbout: "The secret that holds the daemon's token. It stays in Obsidian's keychain, outside the vault.",
  live: "Follow my writing",
  liveAbout: "Update the pane of similar memories while you type.",
};

const chinese: Texts = {
  ok: "记忆正常",
  okMore: (notes) => `已索引 ${notes} 篇笔记。点击打开面板。`,
  indexing: (done, total) => `正在索引 ${done}/${total}`,
  indexingMore: "正在读取笔记；已读部分可以搜索。",
  offline: "记忆离线",
  noDaemon: "此端口没有服务。请运行：vaultd serve",
  noVault: "服务找不到它的笔记库。",
  wrongToken: "令牌不被接受。请在设置中选择；运行 vaultd token 可查看。",
  conflicts: (count) => `${count} 篇笔记待处理`,
  conflictsMore: "有些笔记无法读取或有冲突副本，详见面板。",
  pin: "钉住或取消钉住此记忆",
  resolve: "标记此记忆为已解决或重新打开",
  restore: "从归档恢复此记忆",
  similar: "显示相似的记忆",
  search: "搜索记忆",
  dashboard: "打开面板",
  pinned: (name) => `已钉住：${name}`,
  unpinned: (name) => `已取消钉住：${name}`,
  resolved: (name) => `已解决：${name}`,
  unresolved: (name) => `已重新打开：${name}`,
  restored: (name) => `已恢复：${name}`,
  unknownNote: "此笔记尚未索引，或不是记忆。",
  otherVault: "未完成：服务在此路径上有另一篇笔记。它是否在管理另一个笔记库？",
  failed: (why) => `未完成：${why}`,
  searchHint: "输入词语或问题",
  nothingFound: "没有找到记忆。",
  noNote: "打开一篇笔记即可看到相似的记忆。",
  nothingAlike: "没有相似的记忆。",
  port: "端口",
  portAbout: "服务在本机监听的端口。",
  portWrong: "请输入 1 到 65535 的整数。",
  token: "令牌",
  tokenAbout: "保存服务令牌的密钥。它存放在 Obsidian 的钥匙串里，不在笔记库中。",
  live: "随写随找",
  liveAbout: "打字时更新相似记忆的侧栏。",
};

export function textsFor(language: string): Texts {
  return language.toLowerCase().startsWith("zh") ? chinese : english;
}
