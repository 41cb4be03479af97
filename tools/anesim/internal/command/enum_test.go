package command

import (
	"strings"
	"testing"
)

func TestEnum(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
		code int
	}{
		{[]string{"enum"}, []string{"MicroOp", "ZinUnitType", "decompiled"}, exitDone},
		{[]string{"enum", "0x3f"}, []string{"AFFINE_TRANFORM", "BatchNorm", "vendor's spelling"}, exitDone},
		{[]string{"enum", "fp16"}, []string{"SerialType      3", "TensorDataType  1", "CatalogueType   5", "DatapathFormat  2"}, exitDone},
		{[]string{"enum", "zinunittype"}, []string{"79 ", "FunctionCall"}, exitDone},
		{[]string{"enum", "kIOReturnBusy"}, []string{"0xe0000007", "0xe00002d5 in the public header"}, exitDone},
		{[]string{"enum"}, []string{"MACOp", "NE.MACCfg.OpMode"}, exitDone},
		{[]string{"enum", "ne.maccfg.opmode"}, []string{"pass-through", "channel-product"}, exitDone},
		{[]string{"enum", "PlanarForm"}, []string{"Common.Cfg.PlanarForm", "two-sources"}, exitDone},
		{[]string{"enum", "no such thing"}, []string{"unknown name or number"}, exitFailed},
		{[]string{"enum", "a", "b"}, []string{"want one name"}, exitUsage},
	} {
		stdout, stderr, code := invoke(tt.args...)
		for _, want := range tt.want {
			if code != tt.code || !strings.Contains(stdout+stderr, want) && !strings.Contains(stdout+stderr, strings.TrimSpace(want)+")") {
				t.Errorf("%q: status %d, no %q in\n%s%s", tt.args, code, want, stdout, stderr)
			}
		}
	}
}
