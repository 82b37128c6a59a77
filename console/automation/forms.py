"""Which pool an address names, and what people say when they give the level back."""

from typing import Any

from django import forms


class PoolForm(forms.Form):
    source = forms.IntegerField(min_value=1, max_value=2**53 - 1)
    cluster = forms.CharField(max_length=253)
    gpu_model = forms.CharField(max_length=253)

    def pool(self) -> dict[str, Any]:
        said = self.cleaned_data
        return {"source_id": said["source"], "cluster": said["cluster"], "gpu_model": said["gpu_model"]}


class GiveBackForm(PoolForm):
    lost = forms.IntegerField(min_value=1, max_value=2**53 - 1)
    reason = forms.CharField(max_length=2000, required=False)
