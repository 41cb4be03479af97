package sweepcommand

import (
	"errors"

	"github.com/spf13/pflag"
)

// refuseParquet gives a command a hidden --parquet that names the tool that took its place.
func refuseParquet(s *pflag.FlagSet) {
	s.Var(parquetFlag{}, "parquet", "gone: tools/parquet writes Parquet files")
	if err := s.MarkHidden("parquet"); err != nil {
		panic(err) // the flag has just been made
	}
}

// parquetFlag is a flag that refuses every value.
type parquetFlag struct{}

func (parquetFlag) String() string { return "" }
func (parquetFlag) Type() string   { return "string" }

func (parquetFlag) Set(string) error {
	return errors.New("tools/parquet makes Parquet files of the CSV: go build -C tools/parquet -o \"$PWD/parquet\" . && ./parquet -o OUT.parquet ROWS.csv")
}
