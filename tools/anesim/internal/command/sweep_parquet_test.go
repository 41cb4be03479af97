package command

import (
	"strings"
	"testing"
)

func TestParquetFlagNamesTheTool(t *testing.T) {
	for _, args := range [][]string{{"sweep", "add", "c=4", "--parquet", "x.parquet"}, {"sweep", "merge", "x.csv", "--parquet=x.parquet"}} {
		if out, errs, code := invoke(args...); code != exitUsage || out != "" || !strings.Contains(errs, "tools/parquet") {
			t.Errorf("%q: exit %d with %q, %q; want a usage error that names tools/parquet", args, code, out, errs)
		}
	}
	if out, _, _ := invoke("sweep", "--help"); strings.Contains(out, "--parquet") {
		t.Error("help shows --parquet, which no longer works")
	}
}
