package command

import (
	"github.com/spf13/pflag"

	"anesim/internal/cache"
	"anesim/tools/anesim/internal/usage"
)

// cacheFlags holds the flags of the program cache.
type cacheFlags struct {
	dir              string
	recompile, fetch bool
}

func (f *cacheFlags) registerFlags(s *pflag.FlagSet) {
	s.StringVar(&f.dir, "cache", "", "fetch compiled programs from `DIR`, or compile them and store them there")
	s.BoolVar(&f.recompile, "force-recompilation", false, "with --cache: compile the programs even if they are there")
	s.BoolVar(&f.fetch, "force-fetch", false, "with --cache: fail if they are not there")
}

// openCache opens the cache for programs that are placed as placement says; see
// [placeFlags.cacheWords]. The name of the file is no part of the key, so that a copy of it finds the
// programs (chapter 5 of the documents). It returns nil if the flags do not ask for a cache.
func (f *cacheFlags) openCache(placement string) (*cache.Cache, error) {
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
	c.Placement = placement
	switch {
	case f.recompile:
		c.Mode = cache.ForceRecompilation
	case f.fetch:
		c.Mode = cache.ForceFetch
	}
	return c, nil
}
