/** Settings: the port, the name of the secret with the token (never the token itself), and whether to follow writing. */

import { type App, PluginSettingTab, SecretComponent, type SettingDefinitionItem } from "obsidian";
import type VaultdPlugin from "./main";

export interface VaultdSettings {
  port: number;
  tokenSecret: string;
  live: boolean;
}

export const DEFAULTS: VaultdSettings = { port: 8000, tokenSecret: "", live: true };

export function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 65535;
}

/** Settings from what was saved, which may be of any age and make; what is wrong or absent is as in `otherwise`. */
export function settingsFrom(saved: unknown, otherwise: VaultdSettings = DEFAULTS): VaultdSettings {
  const raw = typeof saved === "object" && saved !== null ? (saved as Partial<Record<keyof VaultdSettings, unknown>>) : {};
  return {
    port: isPort(raw.port) ? raw.port : otherwise.port,
    tokenSecret: typeof raw.tokenSecret === "string" ? raw.tokenSecret : otherwise.tokenSecret,
    live: typeof raw.live === "boolean" ? raw.live : otherwise.live,
  };
}

export class VaultdSettingTab extends PluginSettingTab {
  constructor(
    app: App,
    private readonly vaultd: VaultdPlugin,
  ) {
    super(app, vaultd);
  }

  override getSettingDefinitions(): SettingDefinitionItem<keyof VaultdSettings>[] {
    const { texts } = this.vaultd;
    return [
      {
        name: texts.port,
        desc: texts.portAbout,
        control: {
          type: "number",
          key: "port",
          defaultValue: DEFAULTS.port,
          validate: (value) => (isPort(value) ? undefined : texts.portWrong),
        },
      },
      {
        name: texts.token,
        desc: texts.tokenAbout,
        render: (setting) => {
          setting.addComponent((el) =>
            new SecretComponent(this.app, el).setValue(this.vaultd.settings.tokenSecret).onChange(async (name) => {
              await this.setControlValue("tokenSecret", name);
            }),
          );
        },
      },
      { name: texts.live, desc: texts.liveAbout, control: { type: "toggle", key: "live" } },
    ];
  }

  override getControlValue(key: string): unknown {
    return new Map<string, unknown>(Object.entries(this.vaultd.settings)).get(key);
  }

  override async setControlValue(key: string, value: unknown): Promise<void> {
    await this.vaultd.use(settingsFrom({ ...this.vaultd.settings, [key]: value }, this.vaultd.settings));
  }
}
