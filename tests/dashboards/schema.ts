import type { Dashboard } from "@grafana/schema";
import type { Options as BarGauge } from "@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen.d.ts";
import type { Options as Heatmap } from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.d.ts";
import type { Options as Stat } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.d.ts";
import type { Options as Table } from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.d.ts";
import type { Options as TimeSeries, FieldConfig as Lines } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.d.ts";

// What JSON has in the place of an enum of strings.
export type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
export type Of = { bargauge: BarGauge; heatmap: Heatmap; stat: Stat; table: Table; timeseries: TimeSeries };
export type { Dashboard, Lines };
