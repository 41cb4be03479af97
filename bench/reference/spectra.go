package reference

var spectra = map[string]operator{}
