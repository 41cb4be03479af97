package flags

import (
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"anesim"
	"anesim/loader/network"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// Dims are the sizes that a command line gives to the dimensions of networks.
type Dims struct{ Dims []string }

func (f *Dims) Register(s *pflag.FlagSet) {
	s.StringArrayVar(&f.Dims, "dim", nil, "sizes of dimensions of the networks, `NAME=SIZE,...`, or FILE:NAME=SIZE,... of one of them; repeatable")
}

// Flags are the flags as another command takes them.
func (f *Dims) Flags() (list []string) {
	for _, text := range f.Dims {
		list = append(list, "--dim", text)
	}
	return list
}

// Of returns the sizes for a file: own are those given to it by name, all those given to
// every network. Files are all of the command line's.
func (f *Dims) Of(file string, files []string) (own, all map[string]int, err error) {
	own, all = map[string]int{}, map[string]int{}
	for _, text := range f.Dims {
		sizes, to := text, all
		for _, name := range files {
			if rest, ok := strings.CutPrefix(text, name+":"); ok {
				if sizes, to = rest, own; name != file {
					to = nil
				}
				break
			}
		}
		list, err := network.ParseDims(sizes)
		if err != nil {
			return nil, nil, usage.Errorf("--dim: %v", err)
		}
		if to != nil {
			maps.Copy(to, list)
		}
	}
	return own, all, nil
}

// Open opens a model with the sizes of its dimensions. Sizes that are given to every network
// mean nothing to a compiled program among them.
func (f *Dims) Open(o anesim.OpenOptions, file string, files []string, stdin io.Reader) (*anesim.Model, error) {
	own, all, err := f.Of(file, files)
	if err != nil {
		return nil, err
	}
	o.Dims = maps.Clone(all)
	maps.Copy(o.Dims, own)
	m, err := input.OpenModelWith(&o, file, stdin)
	var bad *anesim.OptionError
	if errors.As(err, &bad) && bad.Option == "Dims" && len(own) == 0 && len(files) > 1 {
		o.Dims = nil
		return input.OpenModelWith(&o, file, stdin)
	}
	return m, err
}
