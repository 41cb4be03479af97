package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "", "write the Parquet file to `OUT`")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: parquet -o OUT.parquet [FILE]\n\nParquet writes the CSV of anesim sweep, from FILE or standard input, as a Parquet file.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *out == "" || flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdin, flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "parquet:", err)
		os.Exit(1)
	}
}

// run converts the named CSV file to the Parquet file out. It reads stdin if name is "" or "-".
func run(stdin io.Reader, name, out string) error {
	var in *os.File
	if name == "" || name == "-" {
		name = "standard input"
		spool, err := os.CreateTemp("", "sweep-*.csv")
		if err != nil {
			return err
		}
		defer os.Remove(spool.Name())
		in = spool
		if _, err := io.Copy(spool, stdin); err != nil {
			return err
		}
	} else {
		var err error
		if in, err = os.Open(name); err != nil {
			return err
		}
		if a, err := in.Stat(); err == nil {
			if b, err := os.Stat(out); err == nil && os.SameFile(a, b) {
				return fmt.Errorf("output %s would overwrite input %s; choose another name", out, name)
			}
		}
	}
	defer in.Close()
	if err := writeFile(out, func(w io.Writer) error { return convertCSV(in, w) }); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeFile creates the named file with the output of write. If write fails, no file is created.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	const mode = 0o644 // os.CreateTemp creates files that only their owner can read
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
