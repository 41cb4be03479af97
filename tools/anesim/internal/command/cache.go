package command

import (
	"net/url"
	"path/filepath"

	"github.com/spf13/pflag"

	"anesim/loader/cache"
	"anesim/tools/anesim/internal/usage"
)

// cacheFlags are what a command says of the program cache.
type cacheFlags struct {
	dir              string
	recompile, fetch bool
}

func (f *cacheFlags) register(s *pflag.FlagSet) {
	s.StringVar(&f.dir, "cache", "", "take the lowered programs from `DIR`, or make them and keep them there")
	s.BoolVar(&f.recompile, "force-recompilation", false, "with --cache: make the programs whether or not they are there")
	s.BoolVar(&f.fetch, "force-fetch", false, "with --cache: fail where they are not there")
}

// open is the cache for the programs of a file, nil without one.
func (f *cacheFlags) open(file string) (*cache.Cache, error) {
	switch {
	case f.dir == "" && (f.recompile || f.fetch):
		return nil, usage.Errorf("--force-recompilation and --force-fetch require --cache")
	case f.recompile && f.fetch:
		return nil, usage.Errorf("--force-recompilation and --force-fetch are mutually exclusive")
	case f.dir == "":
		return nil, nil
	}
	c, err := cache.Open(f.dir)
	if err != nil {
		return nil, err
	}
	c.Source = sourceURL(file)
	switch {
	case f.recompile:
		c.Mode = cache.ForceRecompilation
	case f.fetch:
		c.Mode = cache.ForceFetch
	}
	return c, nil
}

// sourceURL is the resolved URL of a file, empty of standard input.
func sourceURL(file string) string {
	if file == "-" {
		return ""
	}
	path, err := filepath.Abs(file)
	if err != nil {
		path = file
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
