package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"anesim"
	"anesim/loader/network"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// Dims holds the values of the flags that choose what a network is read as: the sizes of its named
// dimensions (--dim), its function and the compiler's release.
type Dims struct {
	Dims     []string
	Function string // of programs with several
	Release  string // of Apple's compiler; "" means what the file says
	Source   string // where errors tell the user to give sizes; "" means --dim
}

// Register adds the flags to s.
func (f *Dims) Register(s *pflag.FlagSet) {
	s.StringArrayVar(&f.Dims, "dim", nil, "set dimensions of the networks, `NAME=SIZE,...`, or of one of them, FILE:NAME=SIZE,...; repeatable")
	s.StringVar(&f.Function, "function", "", "read the function `NAME` of a Core ML program that has several")
	s.StringVar(&f.Release, "release", "", "write the descriptors of a `RELEASE` of Apple's compiler: newest or 2026; default is what a list of layers says, and newest")
}

// Flags returns the flags as command-line arguments for another command.
func (f *Dims) Flags() (list []string) {
	for _, text := range f.Dims {
		list = append(list, "--dim", text)
	}
	if f.Function != "" {
		list = append(list, "--function", f.Function)
	}
	if f.Release != "" {
		list = append(list, "--release", f.Release)
	}
	return list
}

// Origin returns what the flags say, for the origin of a sweep.
func (f *Dims) Origin() []string {
	list := slices.Clone(f.Dims)
	for _, other := range [...]struct{ flag, value string }{{"function", f.Function}, {"release", f.Release}} {
		if other.value != "" {
			list = append(list, "--"+other.flag+"="+other.value)
		}
	}
	return list
}

// Of returns the sizes that the flags set for a file, keyed by the name of the dimension. The map
// own has the sizes for this file only, and all has those for every network. The argument files
// lists all files on the command line. A flag that begins with one of these names and a colon is
// for that file only.
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

// Open opens the model in file with the sizes that the flags set. The argument files lists all
// files on the command line. If there are several, compiled programs ignore the release, and the sizes
// that are meant for every network.
func (f *Dims) Open(o anesim.OpenOptions, file string, files []string, stdin io.Reader) (*anesim.Model, error) {
	own, all, err := f.Of(file, files)
	if err != nil {
		return nil, err
	}
	o.Function, o.Release = f.Function, f.Release
	o.Dims = maps.Clone(all)
	maps.Copy(o.Dims, own)
	m, err := input.OpenModelWith(&o, file, stdin)
	var bad *anesim.OptionError
	if errors.As(err, &bad) && (bad.Option == "Dims" && len(own) == 0 || bad.Option == "Release") && len(files) > 1 {
		o.Dims, o.Release = nil, ""
		if p, err := input.OpenModelWith(&o, file, stdin); err != nil || p.Kind() == anesim.KindProgram {
			return p, err
		}
		return nil, err // a network with a wrong release
	}
	var unknown *network.DimError
	if errors.As(err, &unknown) && len(files) > 1 && slices.ContainsFunc(unknown.Unknown, func(name string) bool { _, ok := all[name]; return ok }) {
		return nil, fmt.Errorf("%w; to set a dimension of one network only, use --dim FILE:NAME=SIZE", err)
	}
	if errors.As(err, &unknown) && len(unknown.Needed) > 0 && len(unknown.Unknown) == 0 {
		return nil, fmt.Errorf("%w (given by %s)", err, cmp.Or(f.Source, "--dim"))
	}
	var function *network.FunctionError
	if errors.As(err, &function) && function.Name == "" && f.Source == "" {
		return nil, fmt.Errorf("%w (given by --function)", err)
	}
	return m, err
}
