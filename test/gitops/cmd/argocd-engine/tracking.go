package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
	trackingLabel      = "app.kubernetes.io/instance"
)

// tracking marks the objects of an application, as the setting application.resourceTrackingMethod of Argo CD asks.
type tracking struct {
	method      string
	application string
}

// mark adds the label or the annotation by which Argo CD tracks the application to an object of the folder.
func (t tracking) mark(object *unstructured.Unstructured) {
	if t.method == "label" {
		object.SetLabels(with(object.GetLabels(), trackingLabel, t.application))
		return
	}
	gvk := object.GroupVersionKind()
	id := fmt.Sprintf("%s:%s/%s:%s/%s", t.application, gvk.Group, gvk.Kind, object.GetNamespace(), object.GetName())
	object.SetAnnotations(with(object.GetAnnotations(), trackingAnnotation, id))
}

// isMarked reports whether a live object belongs to the application.
func (t tracking) isMarked(object *unstructured.Unstructured) bool {
	if t.method == "label" {
		return object.GetLabels()[trackingLabel] == t.application
	}
	application, _, _ := strings.Cut(object.GetAnnotations()[trackingAnnotation], ":")
	return application == t.application
}

func with(values map[string]string, key, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}
