package sweepcommand

import (
	"errors"

	"github.com/spf13/pflag"
)

// addRefusedParquetFlag adds a hidden flag --parquet. Its use is an error, which names the tool
// that replaced it.
func addRefusedParquetFlag(s *pflag.FlagSet) {
	s.Var(parquetFlag{}, "parquet", "removed: tools/parquet writes Parquet files")
	if err := s.MarkHidden("parquet"); err != nil {
		panic(err) // the flag has just been made
	}
}

// A parquetFlag is a flag that refuses every value.
type parquetFlag struct{}

func (parquetFlag) String() string { return "" }
func (parquetFlag) Type() string   { return "string" }

func (parquetFlag) Set(string) error {
	return errors.New("flag was removed; convert the CSV with tools/parquet: go build -C tools/parquet -o \"$PWD/parquet\" . && ./parquet -o OUT.parquet ROWS.csv")
}
