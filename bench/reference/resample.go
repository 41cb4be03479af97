package reference

var resamplings = map[string]operator{}
